"""Asking a server live: the openai client over a transport that records what it parses.

`address` says where a server is, `request` what to ask it; `recorder` turns the bytes of a response to
events, `transport` puts it under httpx (and into anybody's program: `recording_client`), `asking` sends
one live request, `ground_truth` renders the Harmony prompt as token IDs for completions, which no
server parses, `failures` says what went wrong and `outcome` how a request ended.
"""
