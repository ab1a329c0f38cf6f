"""The paper's six benchmarks, for base and for chat models.

The paper does not say which OpenCompass configurations it used.
`base_benchmarks` are the configurations with which OpenCompass's descriptions
of these benchmarks report accuracies; where the paper has the same model, the
accuracies agree. `chat_benchmarks` are the configurations that these
descriptions name for chat models. For CMMLU, both configurations are our own
choice. C-Eval is run on its validation split (group `ceval`), because the
answers of its test split (`ceval-test` in the paper) are not public.
"""
from mmengine.config import read_base

with read_base():
    from opencompass.configs.datasets.bbh.bbh_gen_5b92b0 import \
        bbh_datasets as bbh_chat
    from opencompass.configs.datasets.bbh.bbh_gen_98fba6 import \
        bbh_datasets as bbh_base
    from opencompass.configs.datasets.ceval.ceval_gen_2daf24 import \
        ceval_datasets as ceval_chat
    from opencompass.configs.datasets.ceval.ceval_ppl_578f8d import \
        ceval_datasets as ceval_base
    from opencompass.configs.datasets.cmmlu.cmmlu_gen_c13365 import \
        cmmlu_datasets as cmmlu_chat
    from opencompass.configs.datasets.cmmlu.cmmlu_ppl_041cbf import \
        cmmlu_datasets as cmmlu_base
    from opencompass.configs.datasets.gsm8k.gsm8k_gen_1d7fe4 import \
        gsm8k_datasets as gsm8k_chat
    from opencompass.configs.datasets.gsm8k.gsm8k_gen_17d0dc import \
        gsm8k_datasets as gsm8k_base
    from opencompass.configs.datasets.hellaswag.hellaswag_10shot_gen_e42710 import \
        hellaswag_datasets as hellaswag_chat  # noqa: E501
    from opencompass.configs.datasets.hellaswag.hellaswag_10shot_ppl_59c85e import \
        hellaswag_datasets as hellaswag_base  # noqa: E501
    from opencompass.configs.datasets.mmlu.mmlu_gen_4d595a import \
        mmlu_datasets as mmlu_chat
    from opencompass.configs.datasets.mmlu.mmlu_ppl_ac766d import \
        mmlu_datasets as mmlu_base


def one_by_one(dataset: dict) -> dict:
    """Return a dataset entry whose questions are run in batches of one.

    In OpenCompass, perplexities depend on the other questions in a batch,
    unless the model is of this package's class `BatchedBaseModel`.
    """
    infer_cfg = dataset['infer_cfg']
    inferencer = dict(infer_cfg['inferencer'], batch_size=1)
    return dict(dataset, infer_cfg=dict(infer_cfg, inferencer=inferencer))


base_benchmarks = [
    *bbh_base, *gsm8k_base,
    *map(one_by_one, [*mmlu_base, *cmmlu_base, *ceval_base, *hellaswag_base])
]
ceval_validation = [
    dataset for dataset in ceval_chat
    if not dataset['abbr'].startswith('ceval-test-')
]
chat_benchmarks = [
    *bbh_chat, *gsm8k_chat, *mmlu_chat, *cmmlu_chat, *ceval_validation,
    *hellaswag_chat
]
