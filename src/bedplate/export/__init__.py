"""From a trained policy to a bundle: deterministic graph, golden samples, parity."""
