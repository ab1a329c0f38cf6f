"""Draws the texts of a validation set from OpenCompass's benchmarks.

A recipe (`recipes`) names benchmarks and how many texts each gives.
`dataset_configs` reads OpenCompass's config of each, `dataset_loading` loads
its items from this machine alone, `prompts` finds the part of the prompt
template that presents one item, `benchmark_texts` fills it in and puts the
right answer behind it, and `drawing` draws items evenly over the sub-tasks,
the same ones on every machine. `assembly` does all of this for a recipe, and
writes the texts with a record of how they were made. See
docs/validation_sets.md.
"""
