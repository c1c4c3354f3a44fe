"""`python -m inspector`."""

import sys

try:
    from inspector.cli import main

    code = main()
except KeyboardInterrupt:  # Ctrl-C while the modules are still read
    sys.exit(2)
sys.exit(code)
