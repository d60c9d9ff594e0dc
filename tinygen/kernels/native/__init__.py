"""tinygen's own kernels: faster than CMSIS-NN because they know their layer."""
