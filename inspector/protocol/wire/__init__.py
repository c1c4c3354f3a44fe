"""What vLLM sends, one endpoint a module: payloads in, tokens and deltas out. No I/O."""
