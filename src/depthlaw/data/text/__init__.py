"""Text as a stream of documents: whatever a user names as text, in a fixed order, with ids, and resumable.

A source is read from front to back and never shuffled; the position in it is our own count of documents.
From the ground up: records (one text each), sources of documents, tokens, batches of rows for a model.
"""
