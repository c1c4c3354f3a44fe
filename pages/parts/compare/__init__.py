"""The Compare page's parts: the comparison of two captures, and one prompt sent to two servers."""
