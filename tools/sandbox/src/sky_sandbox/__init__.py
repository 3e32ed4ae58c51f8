"""An API server in memory: for demos, fast tests and simulation."""
