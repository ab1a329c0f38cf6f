"""What OpenCompass finds in its registries, one module per registry.

`models`, `datasets`, `inferencers`, `evaluators` and `summarizers` hold the
registered classes. `labels` marks the right answers of a benchmark, and
`text_sampling` draws texts from OpenCompass's benchmarks. Nothing of
OpenCompass is replaced.
"""
