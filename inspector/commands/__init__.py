"""The commands of `python -m inspector`, one module each.

A module has `add_parser(commands)`, which adds its parser and sets `run` to a function that takes the
parsed arguments and returns the exit code: 0 clean, 1 findings at the level asked for, 2 cannot read
or reach.
"""
