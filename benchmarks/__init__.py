"""What `bedplate bench` drives. Run from a source checkout; peers come with the extra "bench"."""
