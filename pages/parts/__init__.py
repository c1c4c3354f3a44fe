"""The bodies of the pages, a folder each; what several pages share is in `pages.ui`."""
