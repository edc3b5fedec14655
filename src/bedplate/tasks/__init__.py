"""Robot jobs as data. Names resolve through TASKS; a member is a factory that returns a Task."""

from __future__ import annotations

from bedplate.core.registry import Registry

TASKS = Registry(
    "task",
    {
        "nav_lidar": "bedplate.tasks.nav_lidar:nav_lidar",
        "arm_reach": "bedplate.tasks.arm_reach:arm_reach",
        "quad_avoid": "bedplate.tasks.quad_avoid:quad_avoid",
        "half_cheetah": "bedplate.tasks.gymnasium_v5.half_cheetah:half_cheetah",
        "ant": "bedplate.tasks.gymnasium_v5.ant:ant",
        "hopper": "bedplate.tasks.gymnasium_v5.hopper:hopper",
        "walker2d": "bedplate.tasks.gymnasium_v5.walker2d:walker2d",
        "reacher": "bedplate.tasks.gymnasium_v5.reacher:reacher",
        "pusher": "bedplate.tasks.gymnasium_v5.pusher:pusher",
    },
    entry_points="bedplate.tasks",
)
