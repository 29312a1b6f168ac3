"""Steps, phases, and checkpoints that the script marks in its training loop."""
