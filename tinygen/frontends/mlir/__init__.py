"""MLIR modules of tinygen's own dialect, as `--dump` writes them."""
