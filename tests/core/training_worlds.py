"""A small world to train on: texts with answers, losses, accuracies."""
import numpy as np

from csv_plugin.core.accuracies import AccuracyTable
from csv_plugin.core.losses import TargetTokens, TokenLosses
from csv_plugin.core.spans import TokenSpans
from csv_plugin.core.texts import Text, TextSet
from tests.core.loss_dumps import model_losses

TEXTS = TextSet((Text('a', 'How many pears? 7.', 'sums', (16, 17)),
                 Text('b', 'Where? In 石桥.', 'facts', (10, 12)),
                 Text('c', 'No answer here.', 'facts')))  # yapf: disable
N_MODELS, N_FITTED = 15, 12
MODELS = tuple(f'm{m}' for m in range(N_MODELS))
#: Models to fit to, and models to predict.
FITTED, OTHERS = MODELS[:N_FITTED], MODELS[N_FITTED:]
FAMILIES = {model: f'f{m % 3}' for m, model in enumerate(MODELS)}
#: Tokens of the texts, one per character.
CHARACTERS = TargetTokens.of(TEXTS, [
    TokenSpans.from_token_bytes([c.encode() for c in text.text], text.text)
    for text in TEXTS
])


def make_training_world(targets):
    """Dumps and accuracies of all models on some tokens of the texts.

    Only the losses on the answer of text 'a' fall with the skill in sums.
    """
    rng = np.random.default_rng(0)
    skills = rng.normal(size=N_MODELS)
    losses = {
        model: [
            TokenLosses(
                text.text_id,
                2 + .1 * rng.normal(size=len(spans)) -
                (.4 * skill * (spans.starts >= 15) if i == 0 else 0),
                spans,
                len(text.text),
                sha256=text.sha256)
            for i, (text, spans) in enumerate(zip(TEXTS, targets.spans))
        ]
        for model, skill in zip(MODELS, skills)
    }
    accuracies = AccuracyTable(MODELS, ('sums', ),
                               1 / (1 + np.exp(-skills[:, None])), np.zeros(1),
                               np.full(1, 100))
    return model_losses(TEXTS, losses), accuracies


def table_of(targets, dumps, models):
    return targets.table({model: dumps[model].texts for model in models})


def that_matter(targets):
    """Mask of the tokens that follow the skill in sums, `(T,)`."""
    counts = [len(spans) for spans in targets.spans]
    starts = np.concatenate([spans.starts for spans in targets.spans])
    return (starts >= 15) & (np.repeat(np.arange(len(TEXTS)), counts) == 0)
