"""For tests: schedulers on a stage, started, stopped, killed and cut off at will."""
