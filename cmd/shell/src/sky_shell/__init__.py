"""What the processes share: the way to the API server, watching, writing, leading, being healthy."""
