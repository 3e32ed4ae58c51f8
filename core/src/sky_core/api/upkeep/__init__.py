"""Keeping the world up to date with what objects say, at a cost that follows what has changed."""
