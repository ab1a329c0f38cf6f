"""A static HTML page about a run: scores, predictions and their reasons."""
