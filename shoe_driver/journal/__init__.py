"""The raw journal on disk: files of records in a driver's folder.

Imported by the service and by commands that read journals.
"""

__all__: list[str] = []
