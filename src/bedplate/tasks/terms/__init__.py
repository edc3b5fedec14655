"""Terms that several tasks share: worlds, randomisation."""
