"""The scheduler as a process: watch, decide, write, survive."""
