"""The recipe: one YAML file, checked key by key. Its models are the only source of defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from bedplate.core.errors import BedplateError, UnknownName
from bedplate.core.files import canonical_json, sha256_text, write_text
from bedplate.core.settings import expectation, parse_setting


def _no_switch(value: Any) -> Any:
    # YAML's yes, on and true would count as 1
    if isinstance(value, bool):
        raise ValueError("a number, not yes or no")
    return value


Number = Annotated[float, BeforeValidator(_no_switch), Field(allow_inf_nan=False)]
Whole = Annotated[int, BeforeValidator(_no_switch)]
Positive = Annotated[Number, Field(gt=0)]
Fraction = Annotated[Number, Field(ge=0, le=1)]
NotNegative = Annotated[Number, Field(ge=0)]
Count = Annotated[Whole, Field(ge=1)]
Steps = Annotated[Whole, Field(ge=0)]
# far above what any machine has, and far below what ends the process instead of the command
Envs = Annotated[Count, Field(le=1 << 20)]
Threads = Annotated[Whole, Field(ge=0, le=1024)]
Width = Annotated[Count, Field(le=8192)]


UNCHANGED_BY = ("seed", "description", "env.num_threads", "learn.update_threads")
"""Keys that may be set without making another recipe of it; `expected` stays what it was."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskConfig(_Section):
    """Which task, and the keyword arguments of its factory.

    Attributes:
        name: a task of the table, an entry point, or "package.module:attribute".
        params: arguments of the task's factory; `--set task.KEY=VALUE` writes here.
    """

    name: str
    params: dict[str, Any] = Field(default_factory=dict)


class EnvConfig(_Section):
    """How the task is simulated.

    Attributes:
        num_envs: environments stepped together.
        randomisation: apply the task's randomisation events, noise and delays.
        num_threads: physics threads; 0 means every usable core.
    """

    num_envs: Envs = 256
    randomisation: bool = True
    num_threads: Threads = 0


class LearnConfig(_Section):
    """PPO, in Stable-Baselines3's words.

    Attributes:
        algorithm: the learner.
        total_steps: environment steps to train for, over all environments.
        max_minutes: end sooner after this wall time; null never does. The learning rate falls over total_steps, so
            a run that is cut ends at a higher rate.
        n_steps: control steps per environment and rollout.
        batch_size: samples per minibatch; must divide num_envs * n_steps.
        n_epochs: passes over each rollout.
        learning_rate: at the start; it falls linearly to learning_rate_final.
        learning_rate_final: at the end.
        gamma: discount per control step.
        gae_lambda: of generalised advantage estimation.
        clip_range: of the probability ratio.
        ent_coef: weight of the entropy bonus.
        vf_coef: weight of the value loss.
        max_grad_norm: gradients are scaled down to this norm.
        target_kl: stop an update early above 1.5 times this divergence; null never does.
        net_arch: hidden layers of actor and critic.
        activation: of the hidden layers.
        log_std_init: log of the initial action deviation.
        normalize_reward: scale rewards by the deviation of their discounted return.
        clip_obs: bound of normalised observations.
        imitate_steps: environment steps, out of total_steps, in which the policy first learns to imitate the task's
            classical controller; 0 starts from nothing.
        imitate_fade_steps: environment steps after these in which the controller's weight falls from 1 to 0 and PPO's
            grows; a training that ends earlier keeps the weight it has reached.
        update_threads: torch threads during the update. One is right on a shared machine: threads that wait for
            each other lose more than they give as soon as somebody else wants a core.
    """

    algorithm: Literal["ppo"] = "ppo"
    total_steps: Count
    max_minutes: Positive | None = None
    n_steps: Count = 64
    # advantages are normalised by their deviation within a minibatch: one sample has none
    batch_size: Annotated[Whole, Field(ge=2)] = 4096
    n_epochs: Count = 5
    learning_rate: Positive = 1e-3
    learning_rate_final: Positive = 1e-4
    gamma: Fraction = 0.99
    gae_lambda: Fraction = 0.95
    clip_range: Positive = 0.2
    ent_coef: NotNegative = 0.0
    vf_coef: NotNegative = 0.5
    max_grad_norm: Positive = 1.0
    target_kl: Positive | None = None
    net_arch: tuple[Width, ...] = (128, 128)
    activation: Literal["tanh", "relu", "elu", "silu"] = "tanh"
    log_std_init: Number = -0.7
    normalize_reward: bool = True
    clip_obs: Positive = 10.0
    imitate_steps: Steps = 0
    imitate_fade_steps: Steps = 0
    update_threads: Annotated[Count, Field(le=1024)] = 1


class ExpectedResult(_Section):
    """What this recipe reaches, measured: it goes into tables and is never used in training.

    Attributes:
        success: success rate on unseen worlds.
        minutes: training time on 2 cores.
        note: anything a reader must know, such as simpler worlds.
    """

    success: Fraction | None = None
    minutes: Positive | None = None
    note: str = ""


class RunConfig(_Section):
    """A whole recipe, resolved.

    Attributes:
        description: one line for tables.
        task, env, learn: see the sections.
        seed: of everything random.
        expected: what was measured with it.
    """

    description: str = ""
    task: TaskConfig
    env: EnvConfig = EnvConfig()
    learn: LearnConfig
    seed: Annotated[Whole, Field(ge=0, lt=2**29)] = 0
    expected: ExpectedResult = ExpectedResult()

    @model_validator(mode="after")
    def _batch_divides(self) -> RunConfig:
        rollout = self.env.num_envs * self.learn.n_steps
        if rollout % self.learn.batch_size:
            raise ValueError(
                f"learn.batch_size={self.learn.batch_size} does not divide the rollout of "
                f"env.num_envs x learn.n_steps = {self.env.num_envs} x {self.learn.n_steps} = {rollout}; "
                f"try learn.batch_size={_nearest_divisor(rollout, self.learn.batch_size)}"
            )
        return self

    @property
    def hash(self) -> str:
        """SHA-256 over the resolved recipe, without its description and expected result."""
        return sha256_text(canonical_json(self.model_dump(mode="json", exclude={"description", "expected"})))


def load_config(path: Path, overrides: Iterable[str] = ()) -> RunConfig:
    """Read a recipe or a resolved config, with `--set` overrides such as "learn.total_steps=100000".

    Raises:
        BedplateError: unreadable, not YAML, or a value is wrong; names the key.
        UnknownName: a key that does not exist; names the nearest one.
    """
    try:
        raw = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_RecipeLoader)
    except OSError as error:
        raise BedplateError(f"cannot read recipe {path}: {error.strerror or error}", "a readable YAML file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BedplateError(f"recipe {path} is not YAML: {error}", "a file like those of `bedplate recipes`") from error
    if not isinstance(raw, dict):
        raise BedplateError(f"recipe {path} holds no keys", "a file like those of `bedplate recipes`")
    for override in overrides:
        _apply(raw, override)
        # what was measured with the recipe says nothing about another one
        if override.partition("=")[0].strip() not in UNCHANGED_BY and isinstance(raw.get("expected"), dict):
            raw["expected"] = {}
    return parse_config(raw, source=str(path))


class _RecipeLoader(yaml.SafeLoader):
    """YAML without what a recipe cannot mean: a key twice, of which YAML would take the last, and aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"an alias{self.peek_event().start_mark}: write the value out")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key, _ in node.value:
            if names.count(key.value) > 1:
                raise yaml.YAMLError(f"the key {key.value!r} is there twice{key.start_mark}")
        return super().construct_mapping(node, deep)


def parse_config(raw: Mapping[str, Any], source: str = "recipe") -> RunConfig:
    """Check a recipe that is already a mapping; see load_config for the errors."""
    _refuse_unknown(RunConfig, raw, "")
    try:
        return RunConfig.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "missing":
            raise BedplateError(f"{source} has no {key}", f"a value for {key}", f"--set {key}=...") from error
        if not key:
            raise BedplateError(f"{source}: {message}", "values that fit together") from error
        raise BedplateError(f"{source}: {key} is {first.get('input')!r}", expectation(message)) from error


def save_config(config: RunConfig, path: Path) -> None:
    """Write the resolved recipe as YAML, so that it can be trained again."""
    write_text(path, yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True))


def _apply(raw: dict[str, Any], override: str) -> None:
    parts, value = parse_setting(override)
    # task.KEY is short for task.params.KEY
    if parts[0] == "task" and len(parts) == 2 and parts[1] not in TaskConfig.model_fields:
        parts = ("task", "params", parts[1])
    section: Any = raw
    for depth, part in enumerate(parts[:-1]):
        section = section.setdefault(part, {})
        if not isinstance(section, dict):
            raise BedplateError(f"--set {override!r}: {'.'.join(parts[: depth + 1])} is a value", "a section of keys")
    section[parts[-1]] = value


def _refuse_unknown(model: type[BaseModel], raw: Mapping[str, Any], prefix: str) -> None:
    for key, value in raw.items():
        if key not in model.model_fields:
            known = [prefix + name for name in model.model_fields]
            raise UnknownName("recipe key", f"{prefix}{key}", known)
        section = _section_of(model.model_fields[key].annotation)
        if section is not None and isinstance(value, Mapping):
            _refuse_unknown(section, value, f"{prefix}{key}.")


def _section_of(annotation: Any) -> type[BaseModel] | None:
    candidates = get_args(annotation) if get_origin(annotation) else (annotation,)
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, _Section)), None)


def _nearest_divisor(number: int, wanted: int) -> int:
    divisors = [d for d in range(1, number + 1) if number % d == 0]
    return min(divisors, key=lambda d: abs(d - wanted))
