"""One function per kind of figure; takes and returns matplotlib Axes."""
