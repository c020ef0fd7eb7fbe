"""Entry point of `python -m baccarat`."""

import sys

from baccarat.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
