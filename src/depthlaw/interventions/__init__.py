"""Interventions on a residual stack: causal tracing, and blocks run in another order than their own."""
