"""skyctl bench quality: where jobs of a trace land, and how long they wait, under one policy beside another."""
