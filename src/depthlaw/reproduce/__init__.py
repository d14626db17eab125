"""The paper's experiments beside its published numbers."""
