"""Pure numerics on NumPy arrays: no I/O, no configuration, no logging, no printing."""
