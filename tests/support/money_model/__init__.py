"""An independent model of the money: what every seat, the house and the float should have.

It is written from the seeds and the documents in integers and fractions, shares no code with the
product's rules, and reads a rulebook's TOML itself. Tests alone import it.
"""
