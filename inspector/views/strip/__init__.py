"""The token strip of the pages, of a capture, of two compared, or of a growing stream, as increments.

All three have the columns of `views.payload`.
"""

from inspector.views.strip.complete import empty_strip, picture, strip

__all__ = ["empty_strip", "picture", "strip"]
