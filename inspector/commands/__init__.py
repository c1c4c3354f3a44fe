"""The commands of `python -m inspector`, one module each.

A module has `add_parser(commands)`, which adds its parser and sets `run` to a function that takes the
parsed arguments and returns the exit code: 0 no findings, 1 findings at the requested level, 2 a file
cannot be read or a server cannot be reached.
"""
