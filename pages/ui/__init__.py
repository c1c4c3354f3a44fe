"""What pages share: components, pickers, charts, the session's memory. The library holds the logic."""
