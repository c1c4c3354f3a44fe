"""What faces show: flat rows for tables and `--json`, the token strip's columns, increments of a live one."""
