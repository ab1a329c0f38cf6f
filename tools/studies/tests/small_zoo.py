"""The zoo on a part of its texts."""
from dataclasses import replace

import numpy as np
import torch

from csv_plugin.core.losses import TargetTokens
from csv_plugin.core.texts import TextSet
from csv_plugin.demo import shipped
from tests.runs import on_texts
from tools.studies.zoo_study import ZooStudy


def small_zoo() -> ZooStudy:
    """Every seventh text, for speed."""
    study = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                          shipped.SCORING_TOKENIZER)
    texts = TextSet(study.collection.texts.texts[::7])
    kept = np.isin(study.targets.text_ids, texts.ids)
    spans = [part for part, keep in zip(study.targets.spans, kept) if keep]
    tokens = np.repeat(kept, list(map(len, study.targets.spans)))
    return ZooStudy(
        replace(
            study.collection, losses=on_texts(study.collection.losses, texts)),
        TargetTokens.of(texts, spans), study.states[torch.from_numpy(tokens)])
