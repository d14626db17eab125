"""PyTorch and compiled kernels: pure functions of arrays; no input or output, no printing."""
