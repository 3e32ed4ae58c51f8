"""The plugins."""
