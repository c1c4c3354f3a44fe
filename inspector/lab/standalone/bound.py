"""Runs a program that Linux ends when the one that started this is gone, however it went. Standalone."""

import os
import sys

from launcher import die_with_parent  # type: ignore[import-not-found]

if __name__ == "__main__":
    die_with_parent()
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 -- the lab's own command line
