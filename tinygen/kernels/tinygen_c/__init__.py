"""tinygen's own integer-exact C functions (`runtime_c/operators`), the same for every kernel library and target."""
