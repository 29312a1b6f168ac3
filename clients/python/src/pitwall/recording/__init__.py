"""Recording of steps, phases, and values in the script's threads."""
