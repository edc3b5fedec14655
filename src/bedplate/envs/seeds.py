"""Seeds of an environment: they share their world ids' 64 bits with the split and the episode number."""

from __future__ import annotations

import numpy as np

MAX_SEED = 2**29
"""Seeds lie below it."""


def fold_seed(seed: int) -> int:
    """A seed of any size, as libraries draw them, as one below MAX_SEED; those that lie there are unchanged."""
    return seed if seed < MAX_SEED else int(np.random.SeedSequence(seed).generate_state(1)[0]) % MAX_SEED
