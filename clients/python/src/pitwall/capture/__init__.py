"""Data that a capture requests: thread stacks, step profiles, and process state."""
