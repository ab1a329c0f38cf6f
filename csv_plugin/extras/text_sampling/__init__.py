"""Draws the texts of a validation set from OpenCompass's benchmarks.

A recipe (`recipes`) names benchmarks and how many texts each gives.
`host_datasets` loads their items, `prompts` turns an item into a text with its
answer, and `drawing` chooses the items. See docs/validation_sets.md.
"""
