"""Classes for OpenCompass; importing this package registers all of them.

`models`, `perplexities`, `datasets`, `inferencers`, `evaluators`,
`partitioners`, `tasks` and `summarizers` contain them, `labels` marks the
right answers of a benchmark.
Nothing of OpenCompass is replaced, and no class has a name of its classes.
"""
from csv_plugin.oc import (datasets, evaluators, inferencers, models,
                           partitioners, perplexities, summarizers, tasks)

__all__ = [
    'datasets', 'evaluators', 'inferencers', 'models', 'partitioners',
    'perplexities', 'summarizers', 'tasks'
]
