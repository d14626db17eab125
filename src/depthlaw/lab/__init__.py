"""The teacher–student laboratory: residual networks whose way of using depth is known by construction."""
