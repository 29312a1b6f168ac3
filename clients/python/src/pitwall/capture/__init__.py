"""Thread stacks, step profiles, and process state that a capture requests."""
