"""One static HTML page about a run: scores, predictions, why, how sure."""
