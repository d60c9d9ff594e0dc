"""Many candidates at once: each model with each combination of options is a point, and each point a row of a table."""
