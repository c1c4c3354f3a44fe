"""The Diagnose page's parts."""
