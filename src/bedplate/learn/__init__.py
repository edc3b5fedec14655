"""From a recipe to a trained policy in a run folder."""
