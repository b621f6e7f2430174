"""A user's own table or JSON to run records, by a mapping that is declared and never guessed."""
