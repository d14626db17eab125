"""The hidden-state probe: one pass of a language model over text, and what its layers did to each token."""
