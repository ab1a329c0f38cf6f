"""Classes that OpenCompass finds in its registries, one module a registry.

`models`, `datasets`, `inferencers`, `evaluators`, `partitioners` and
`summarizers` contain them, `labels` marks the right answers of a benchmark.
Nothing of OpenCompass is replaced.
"""
