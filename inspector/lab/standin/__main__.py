"""Start the engine: `python -m inspector.lab.standin`; the lab does, with the two packages on its path."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from inspector.capture.errors import LabError
from inspector.lab.standin.layouts import layouts_of
from inspector.lab.standin.steps import schedule_of


def main() -> int:
    """Read the command line, then serve until standard input ends."""
    parser = ArgumentParser(prog="python -m inspector.lab.standin")
    parser.add_argument("--release", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument(
        "--layouts", type=Path, required=True, help="vllm/v1/engine/__init__.py of the release"
    )
    parser.add_argument("--scripts", type=Path, required=True)
    parser.add_argument("--steps", default="1")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--acks", type=Path, help="socket of the plugin; without it steps are paced")
    parser.add_argument("--pace-ms", type=float, default=2.0)
    parser.add_argument("--together", action="store_true", help="paced streams step at the same moments")
    parser.add_argument("--hello-s", type=float, default=300.0)
    asked = parser.parse_args()
    try:
        # Here, so that a missing package is one line too.
        from inspector.lab.standin.engine import Engine, Options  # noqa: PLC0415

        options = Options(
            release=asked.release,
            port=asked.port,
            layouts=layouts_of(asked.layouts.read_text(encoding="utf-8"), release=asked.release),
            scripts=json.loads(asked.scripts.read_text(encoding="utf-8")),
            schedule=schedule_of(asked.steps),
            log=asked.log,
            acks=asked.acks,
            pace_ms=asked.pace_ms,
            together=asked.together,
            hello_s=asked.hello_s,
        )
        Engine(options).run()
    except (LabError, OSError, ValueError, ImportError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
