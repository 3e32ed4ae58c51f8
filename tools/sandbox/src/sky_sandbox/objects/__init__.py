"""What the server knows of objects: the core kinds' defaults and rules, and the definitions and schemas of custom kinds."""
