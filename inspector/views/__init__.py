"""What pages and commands show: rows, the token strip, reports."""
