"""The commands of `python -m inspector`, one module each; `table.py` lists them.

A module has `COMMAND`: the class of its options, and the function that takes them and returns the exit code:
0 no findings, 1 findings at the requested level, 2 a file cannot be read or a server cannot be reached.
"""
