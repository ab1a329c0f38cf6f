"""Draw the texts of a validation set from OpenCompass's benchmarks.

A recipe names benchmarks and how many texts to draw from each.
`host_datasets` loads the items of the benchmarks, `prompts` turns an item into
a text with its answer, and `drawing` chooses the items. See
docs/validation_sets.md.
"""
