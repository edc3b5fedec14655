"""What is wrong with a GPU host, and what mends it: sources, snapshot, facts, checks."""
