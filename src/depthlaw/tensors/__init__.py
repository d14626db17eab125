"""Pure functions of torch tensors, the protocol of a residual stack, and the compiled CPU kernel."""
