"""Read the step, tokens and stage of training from names of checkpoints."""
import math
import re
from typing import NamedTuple, Optional

#: Pattern of one part of a name: words and a number of at most 18 digits, such
#: as `global_step1000`, `tokens16B` or `iter_0001000`.
_PART = re.compile(
    r'(?P<words>[a-z][a-z_-]*)?=?(?P<number>[0-9]{1,18})'
    r'(?P<scale>(\.[0-9]{1,18})?[kmbt]?)(?:[_-](?!\Z)|\Z)',
    re.ASCII | re.IGNORECASE)
#: Maps words in a name to what the number behind them states.
_COUNTED = {
    '': 'step',
    'step': 'step',
    'steps': 'step',
    'global-step': 'step',
    'globalstep': 'step',
    'iter': 'step',
    'iteration': 'step',
    'checkpoint': 'step',
    'checkpoint-step': 'step',
    'ckpt': 'step',
    'tokens': 'tokens',
    'stage': 'stage',
    'phase': 'stage',
    'ingredient': 'ingredient',
}
#: Factors that the letters behind a number mean.
_SCALES = {'k': 10**3, 'm': 10**6, 'b': 10**9, 't': 10**12}


class Revision(NamedTuple):
    """Step, tokens and stage that the name of a checkpoint states.

    `tokens` is NaN if the name states no tokens. Stages, such as pretraining
    (1) and annealing (2), follow each other. The name does not tell whether
    the steps and tokens of a later stage are counted from the beginning of
    this stage. If a stage is run several times, `ingredient` is the number of
    the run; it is 0 if the name states no such number.
    """
    step: int
    tokens: float = math.nan
    stage: int = 1
    ingredient: int = 0

    @property
    def is_of_training(self) -> bool:
        """True if steps count from the beginning of the whole training."""
        return self.stage == 1 and not self.ingredient

    @property
    def is_step_alone(self) -> bool:
        """True if the name states a step and nothing else."""
        return self.is_of_training and math.isnan(self.tokens)


def read_revision(name: str) -> Optional[Revision]:
    """Read the name of a revision or folder of a checkpoint.

    The result is None if the name does not state a step, or not clearly.

    >>> read_revision('checkpoint-500')
    Revision(step=500, tokens=nan, stage=1, ingredient=0)
    >>> read_revision('stage2-ingredient1-step100-tokens16B')
    Revision(step=100, tokens=16000000000.0, stage=2, ingredient=1)
    >>> read_revision('main'), read_revision('lc_step1000')
    (None, None)
    """
    stated: dict[str, str] = {}
    end = 0
    while end < len(name):
        part = _PART.match(name, end)
        if part is None:
            return None
        words = re.sub('[_-]+', '-', part['words'] or '').strip('-').lower()
        counted = _COUNTED.get(words, '')
        # Without words, a number is a step if it is the whole name.
        if counted in ('', *stated) or not (words or part[0] == name):
            return None
        if part['scale'] and counted != 'tokens':
            return None
        stated[counted] = part['number'] + part['scale']
        end = part.end()
    if 'step' not in stated:
        return None
    revision = Revision(
        step=int(stated['step']),
        tokens=scaled_number(stated.get('tokens', 'nan')),
        stage=int(stated.get('stage', 1)),
        ingredient=int(stated.get('ingredient', 0)))
    # A step has at least one token. If the name seems to state fewer tokens,
    # their unit is unknown or their number was rounded.
    if revision.tokens < revision.step:
        return None
    return revision


def scaled_number(text: str) -> float:
    """Return a number with K, M, B, T or nothing behind it.

    A ValueError for any other text.

    >>> scaled_number('4T'), scaled_number('1.5m'), scaled_number('2e3')
    (4000000000000.0, 1500000.0, 2000.0)
    """
    scale = text[-1:].lower()
    if scale in _SCALES:
        return float(text[:-1]) * _SCALES[scale]
    return float(text)
