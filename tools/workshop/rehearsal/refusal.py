"""What an API server does not do."""


class RefusedError(Exception):
    """The API server does not take an object, or does not do what is asked for: what, and why."""
