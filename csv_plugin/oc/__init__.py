"""Define classes for OpenCompass; importing this package registers them.

`models`, `perplexities`, `datasets`, `inferencers`, `evaluators`,
`partitioners`, `tasks` and `summarizers` contain the classes; `labels` finds
the right answers in the prompts of a benchmark. The package replaces nothing
in OpenCompass, and none of its classes has the name of a class of OpenCompass.
"""
from csv_plugin.oc import (datasets, evaluators, inferencers, models,
                           partitioners, perplexities, summarizers, tasks)

__all__ = [
    'datasets', 'evaluators', 'inferencers', 'models', 'partitioners',
    'perplexities', 'summarizers', 'tasks'
]
