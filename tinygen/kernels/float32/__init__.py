"""Kernels of networks that compute with float32: tinygen's own C, the same for all libraries."""
