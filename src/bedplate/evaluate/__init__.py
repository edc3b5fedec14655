"""Success on worlds never trained on, with the guard in the loop."""
