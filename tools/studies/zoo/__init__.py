"""Models of the demonstration: their texts, training and files."""
