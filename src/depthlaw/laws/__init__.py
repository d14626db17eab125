"""Any table of (scale, loss or angle) → fit, intervals, comparison, plan. Never imports torch."""
