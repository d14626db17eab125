"""Run tables, the run store, configuration files and the registry of datasets. Never imports torch."""
