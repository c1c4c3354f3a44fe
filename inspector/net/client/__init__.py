"""Requests to a server: the openai client over a transport that records what it parses.

`address` is where a server is, `request` what is sent, `exchange` sends one live request. `recorder` turns
the bytes of a response into events, `transport` puts it under httpx, also in other programs
(`recording_client`). `ground_truth` renders the Harmony prompt as token IDs for completions, which no server
parses; `server_info` reads the other paths of a server; `failures` says what went wrong, `outcome` how a
request ended.
"""
