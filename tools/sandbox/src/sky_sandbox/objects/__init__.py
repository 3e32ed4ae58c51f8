"""What the server knows of objects: defaults and rules of core kinds, definitions and schemas of custom kinds."""
