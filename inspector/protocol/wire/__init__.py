"""What servers send, one module per endpoint: payloads in, tokens and deltas out. No I/O."""
