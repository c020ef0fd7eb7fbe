"""Every Python of a run that is to be late begins here: `make late` puts this folder on its path.

Python imports a module of this name before anything else, in children as well. Nothing is patched
before its module is imported, so that what a process does not use costs it nothing.
"""

import os

import wrapt

from tests.tools.late import lateness

if os.environ.get(lateness.SEED):
    for name, patch in lateness.PATCHES.items():
        wrapt.register_post_import_hook(patch, name)
    lateness.make_disk_late()
