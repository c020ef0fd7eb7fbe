"""Mistakes in the order of the shipped processes' steps, which the simulated world must find."""
