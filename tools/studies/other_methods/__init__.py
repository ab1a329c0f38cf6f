"""Other ways to predict accuracies, to compare the package's own with."""
