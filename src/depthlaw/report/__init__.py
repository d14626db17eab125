"""What people and programs read: tables on a terminal, JSON, Markdown."""
