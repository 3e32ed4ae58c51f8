"""Text that people bring along, YAML or JSON, read strictly and blamed by its line."""
