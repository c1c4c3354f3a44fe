"""`matrix`: which releases deliver which Harmony streams, from the stored results."""

from typing import Final

from inspector.capture.capture import Endpoint
from inspector.commands.options import Command, Options, option
from inspector.commands.shared import as_json
from inspector.commands.terminal import print_json, say
from inspector.matrix.answers import FRONT_ENDS, STEPS, matrix_answer, matrix_lines
from inspector.matrix.scripts import ENDPOINTS

_EXAMPLE: Final = """examples:
  python -m inspector matrix 0.24.0
  python -m inspector matrix --endpoint responses --steps 1

Steps are the tokens that the engine gives to the server's parser at once: several under load, with
speculative decoding or with --stream-interval.
"""


class Matrix(Options):
    """Print which releases deliver which Harmony streams completely, as the lab measured them."""

    release: str = option(
        "one release (default: the newest by class, and all)", "", "RELEASE", positional=True
    )
    endpoint: Endpoint = option("", Endpoint.CHAT, choices=[endpoint.value for endpoint in ENDPOINTS])
    steps: str = option("tokens per step", "3", choices=STEPS)
    server: str = option("vLLM's front end, or another server", "python", choices=FRONT_ENDS)
    json: bool = as_json()


def run(options: Matrix) -> int:
    """Print what was measured."""
    answer = matrix_answer(
        options.endpoint, release=options.release, steps=options.steps, server=options.server
    )
    if options.json:
        print_json(answer)
    else:
        say(matrix_lines(answer))
    return 0


COMMAND: Final = Command(Matrix, run, _EXAMPLE)
