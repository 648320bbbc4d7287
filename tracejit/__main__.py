"""`python -m tracejit`: the command line."""

import sys

from tracejit.cli import main

if __name__ == "__main__":
    sys.exit(main())
