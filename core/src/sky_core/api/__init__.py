"""Where Kubernetes objects become rows, and decisions become objects again."""
