"""The lab: real vLLM versions on a CPU with scripted tokens, and what each of them delivers."""
