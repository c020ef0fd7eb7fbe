"""The coverage-guided fuzzer: a process of its own, because libFuzzer ends the process it is in.

    python -m tests.soak.fuzz_shoe CORPUS [libFuzzer's options]

It needs atheris (requirements/soak.txt), which knows which branches of the driver an input reached
and keeps those that reached new ones in CORPUS. On a failure it writes the input to a file and says
so; the same command with that file in place of CORPUS runs it again.
"""

import importlib
import sys

# By name: it is no requirement of ours, and has no types.
atheris = importlib.import_module("atheris")

with atheris.instrument_imports(include=["shoe_driver"]):
    from tests.support.shoe.fuzzing import check


def main() -> None:
    """Fuzz until libFuzzer's options say that it is enough."""
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
