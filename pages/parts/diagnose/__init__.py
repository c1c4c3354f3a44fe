"""The Diagnose page's part."""
