"""What to do with a fitted law: predict, invert it, choose a shape under a budget, choose runs to add."""
