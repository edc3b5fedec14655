"""Terms that several tasks share: worlds, distances to a goal, randomisation."""
