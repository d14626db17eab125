"""Kernels on torch tensors: geometry of states, chunked cross-entropy, the protocol of a residual stack."""
