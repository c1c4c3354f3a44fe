"""A stand-in for vLLM's engine, which makes a release's real API server serve scripted tokens.

No model, no GPU, no torch: one process that speaks the protocol between vLLM's API server and its engine.
It samples the tokens of the lab's scripts, in steps whose sizes follow a schedule, and logs each step.
Only the engine's own process (`engine`, `__main__`) needs pyzmq, which is installed into the lab's folder.
"""
