"""Find the pretraining run of a checkpoint by its name."""


def run_of(model: str) -> str:
    """Return the run of a checkpoint: the part of its name before the last @.

    A model without an @ in its name is a run of its own.

    >>> run_of('mix1@1000'), run_of('org/llama')
    ('mix1', 'org/llama')
    """
    run, _, _ = model.rpartition('@')
    return run or model
