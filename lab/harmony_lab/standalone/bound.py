"""Runs a program that dies with its parent (PR_SET_PDEATHSIG). Standalone."""

import os
import sys

from launcher import die_with_parent  # type: ignore[import-not-found]

if __name__ == "__main__":
    die_with_parent()
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 -- the lab's own command line
