"""The raw journal on disk: files of records in a driver's folder.

The service and the commands that read journals import it.
"""

__all__: list[str] = []
