"""Material to try the project on, made here."""
