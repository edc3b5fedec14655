"""The reward terms that tasks share."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from bedplate.tasks.terms.rewards import action_rate, proximity


def test_the_action_rate_is_the_squared_change_and_a_constant_output_pays_nothing() -> None:
    state = SimpleNamespace(
        action=torch.tensor([[0.5, -0.5], [1.0, 1.0]]), previous_action=torch.tensor([[0.5, -0.5], [0.0, -1.0]])
    )
    assert action_rate(state).tolist() == [0.0, -5.0]


def test_proximity_is_full_at_contact_and_falls_by_e_for_each_scale() -> None:
    gap_m = torch.tensor([-1.0, 0.0, 0.2, 0.4], dtype=torch.float64)
    torch.testing.assert_close(proximity(gap_m, 0.2), -torch.exp(-torch.tensor([0.0, 0.0, 1.0, 2.0])).double())
