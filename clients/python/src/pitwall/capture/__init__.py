"""Stacks of the threads, profiles of steps, and the state of this process that a capture requests."""
