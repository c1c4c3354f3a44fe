"""In front of the real one on the path: a program with this folder in PYTHONPATH finds no uvloop."""

raise ModuleNotFoundError("uvloop is hidden from this process", name="uvloop")
