"""Make a static HTML page with the predictions and accuracies of a run."""
