"""One page of everything that a folder of runs holds: HTML, JSON and Markdown."""
