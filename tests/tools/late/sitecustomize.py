"""Every Python of a run that is to be late begins here: `make late` puts this folder on its path.

Python imports a module of this name before anything else, in children as well. Nothing is patched
before its module is imported, so that what a process does not use costs it nothing.
"""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from tests.tools.late import lateness


class _Finder(MetaPathFinder):
    """Finds the modules that are patched, once each, and patches them when they are loaded."""

    def __init__(self) -> None:
        self._left = set(lateness.PATCHES)

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002 - as it is
        if fullname not in self._left:
            return None
        self._left.remove(fullname)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            lateness.PATCHES[fullname](module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign] # of this one alone
        return spec


if os.environ.get(lateness.SEED):
    sys.meta_path.insert(0, _Finder())
    lateness.make_disk_late()
