"""A stand-in for vLLM's engine, behind which a release's real API server serves scripted tokens.

No model, no GPU, no torch: one process that speaks the protocol between vLLM's API server and its engine.
It samples what the lab's scripts say, in steps of the sizes that a schedule asks for, and logs each step.
Only the engine's own process (`engine`, `__main__`) needs pyzmq and msgspec; they are installed into the
lab's folder, and nothing else of this package imports them.
"""
