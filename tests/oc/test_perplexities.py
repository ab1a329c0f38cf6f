"""Perplexities of a batch are those of its texts one by one."""
import json

import numpy as np
import pytest
import torch
from opencompass.models import HuggingFaceBaseModel

from csv_plugin.configs.models.tidewell_zoo import zoo_model
from csv_plugin.demo import shipped
from csv_plugin.oc.perplexities import BatchedBaseModel


@pytest.fixture(scope='module')
def texts():
    """The options of six questions; texts in a batch differ in length."""
    lines = (shipped.EXAMS / 'scenes.jsonl').read_text('utf-8').splitlines()
    items = list(map(json.loads, lines[:6]))
    return [item['question'] + item[option] for item in items
            for option in 'ABCD']  # yapf: disable


def models(**settings):
    """That of OpenCompass, and ours."""
    entry = zoo_model(str(shipped.ZOO), 'b', 'l', 50)
    wanted = ('path', 'tokenizer_path', 'model_kwargs', 'tokenizer_kwargs')
    settings = {name: entry[name] for name in wanted} | settings
    return HuggingFaceBaseModel(**settings), BatchedBaseModel(**settings)


@pytest.mark.parametrize('masked', [0, 3])
@pytest.mark.parametrize('longest', [20, 512])
def test_a_batch_gives_what_its_texts_give_one_by_one(texts, masked, longest):
    host, ours = models(max_seq_len=longest)

    def ppl(model, texts):
        with torch.no_grad():
            return model.get_ppl(texts,
                                 [masked] * len(texts) if masked else None)

    alone = np.concatenate([ppl(host, [text]) for text in texts])
    np.testing.assert_allclose(ppl(ours, texts), alone, atol=1e-5)
    if longest == 512 and not masked:
        # Those of OpenCompass depend on the batch.
        assert abs(ppl(host, texts) - alone).max() > 0.1
