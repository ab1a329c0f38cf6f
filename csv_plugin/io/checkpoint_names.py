"""Read runs, steps and tokens from names of checkpoints.

A name that fits no known pattern is kept as a whole.
"""
import math
import re
from typing import NamedTuple, Optional

#: A number behind words, such as `global_step1000`, `tokens16B` or
#: `iter_0001000`; none has more digits.
_PART = re.compile(
    r'(?P<words>[a-z][a-z_-]*)?=?(?P<number>[0-9]{1,18})'
    r'(?P<scale>(\.[0-9]{1,18})?[kmbt]?)(?:[_-](?!\Z)|\Z)',
    re.ASCII | re.IGNORECASE)
#: What a number after each word states: steps, tokens or a stage.
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
_SCALES = {'': 1, 'k': 10**3, 'm': 10**6, 'b': 10**9, 't': 10**12}


class Revision(NamedTuple):
    """Step, tokens and stage that the name of a checkpoint states.

    `tokens` are NaN where it states none. Stages, such as pretraining and
    annealing, follow each other, and the name does not tell whether steps and
    tokens of a later one are counted from its beginning. `ingredient` numbers
    the runs of a stage that is run several times; 0 without one.
    """
    step: int
    tokens: float = math.nan
    stage: int = 1
    ingredient: int = 0

    @property
    def is_of_training(self) -> bool:
        """True if the step is one since the beginning of the training."""
        return self.stage == 1 and not self.ingredient

    @property
    def is_step_alone(self) -> bool:
        """True if it states no more than a step."""
        return self.is_of_training and math.isnan(self.tokens)


def read_revision(name: str) -> Optional[Revision]:
    """Read the name of a revision or a folder; None if it is unclear.

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
        # A number alone is a step; beside others it may be anything.
        if counted in ('', *stated) or not (words or part[0] == name):
            return None
        if part['scale'] and counted != 'tokens':
            return None
        stated[counted] = part['number'] + part['scale'].lower()
        end = part.end()
    if 'step' not in stated:
        return None
    revision = Revision(
        int(stated['step']), _tokens(stated.get('tokens', 'nan')),
        int(stated.get('stage', 1)), int(stated.get('ingredient', 0)))
    # A step has one token at least: these lack their unit, or are rounded.
    return None if revision.tokens < revision.step else revision


def _tokens(text: str) -> float:
    digits = text.rstrip('kmbt')
    return float(digits) * _SCALES[text[len(digits):]]
