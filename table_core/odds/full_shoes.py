"""placeholder."""
DECKS=(4,6,8)
FULL_SHOES=""
