"""Printed output: pages for paper, and text for a terminal. Commands and services import it."""

__all__: list[str] = []
