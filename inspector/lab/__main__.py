"""`python -m inspector.lab`: the lab's commands by themselves."""

import sys

from inspector.lab.commands import main

sys.exit(main())
