"""Draws the texts of a validation set from OpenCompass's benchmarks.

A recipe (`text_recipes`) names benchmarks and how many texts each gives. For
each of them

* `dataset_configs` reads OpenCompass's dataset config, with its sub-tasks;
* `dataset_loading` loads their items with OpenCompass's own loaders, from
  this machine alone;
* `dataset_prompts` and `item_templates` find the part of the prompt template
  that presents one item;
* `benchmark_texts` fills that part in and puts the right answer behind it;
* `text_sampling` draws items evenly over the sub-tasks, the same ones on
  every machine.

`assembly` does all of this for a recipe, and writes the texts with a record of
how they were made. See docs/validation_sets.md.
"""
