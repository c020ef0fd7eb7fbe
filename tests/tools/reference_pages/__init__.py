"""The generated parts of the reference pages: configuration, command line, commands, events, codes.

`tests.tools.reference` writes them into the documents; the house tests compare them.
"""
