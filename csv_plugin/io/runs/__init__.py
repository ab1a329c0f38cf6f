"""Read dumps and accuracies from work directories of OpenCompass."""
