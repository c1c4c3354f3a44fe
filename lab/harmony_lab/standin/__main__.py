"""`python -m harmony_lab.standin`: the engine's process, which the lab starts."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from harmony_lab.standin.layouts import layouts_of
from harmony_lab.standin.steps import schedule_of
from inspector.capture.errors import LabError


def main() -> int:
    """Read the command line, then serve until standard input ends."""
    parser = ArgumentParser(prog="python -m harmony_lab.standin")
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
    arguments = parser.parse_args()
    try:
        # Imported here so that a missing package is reported in one line.
        from harmony_lab.standin.engine import EngineOptions, StandinEngine  # noqa: PLC0415

        options = EngineOptions(
            release=arguments.release,
            port=arguments.port,
            layouts=layouts_of(arguments.layouts.read_text(encoding="utf-8"), release=arguments.release),
            scripts=json.loads(arguments.scripts.read_text(encoding="utf-8")),
            schedule=schedule_of(arguments.steps),
            log=arguments.log,
            acks=arguments.acks,
            pace_ms=arguments.pace_ms,
            together=arguments.together,
            hello_s=arguments.hello_s,
        )
        StandinEngine(options).run()
    except (LabError, OSError, ValueError, ImportError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
