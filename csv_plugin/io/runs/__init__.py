"""Work directories of OpenCompass: their dumps and their accuracies."""
