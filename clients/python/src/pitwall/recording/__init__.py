"""Recording of steps, phases, and values in the threads of the script."""
