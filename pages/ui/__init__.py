"""What pages share: components, pickers, charts, the session's state. The library holds the logic."""
