"""Changes to objects as values: JSON merge patch, JSON patch, strategic merge patch, and apply with its owners."""
