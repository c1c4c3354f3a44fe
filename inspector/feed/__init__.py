"""What a browser reads of a growing run: increments of the strip's payload as server-sent events.

`growth` computes the increments, each from what is new and no more; `routes` serves them.
"""
