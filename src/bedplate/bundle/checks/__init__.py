"""What a reader can verify about a bundle without running the policy."""
