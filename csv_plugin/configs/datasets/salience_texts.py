"""Measure token losses on a validation set, by default the demo's texts.

To use texts of your own (JSON lines, see `csv_plugin.io.text_sets`), write
into a config the lines below. The last line is needed because OpenCompass
takes every name that is defined at the end of a config for a setting.

    with read_base():
        from csv_plugin.configs.datasets.salience_texts import salience_texts
    datasets = [salience_texts('my_texts.jsonl')]
    del salience_texts
"""
from os.path import abspath, dirname, join

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from csv_plugin.oc.datasets import SalienceTextDataset
from csv_plugin.oc.evaluators import SalienceEvaluator
from csv_plugin.oc.inferencers import TokenLossInferencer


def salience_texts(path: str, context: int | None = None) -> dict:
    """Return the dataset entry of a file of texts.

    Args:
        path (str): The file, relative to where OpenCompass is started.
        context (Optional[int]): Length of the longest window in tokens
            (default: the context length of the model).

    Raises:
        SystemExit: The texts cannot be used; the message is one line.
    """
    # In a config, mmengine replaces imports at the top by lazy objects, which
    # cannot be called here.
    datasets = __import__('csv_plugin.oc.datasets', fromlist=['datasets'])
    dumps = __import__('csv_plugin.io.runs.run_dumps', fromlist=['run_dumps'])
    checks = __import__('csv_plugin.oc.run_checks', fromlist=['run_checks'])
    with checks.one_line_errors():
        fingerprint = datasets.read_nonempty_texts(path).fingerprint
    prompt_template = dict(type=PromptTemplate, template='')
    inferencer = dict(type=TokenLossInferencer, context=context)
    evaluator = dict(type=SalienceEvaluator)
    return dict(
        abbr=dumps.dataset_abbr(fingerprint),
        type=SalienceTextDataset,
        path=abspath(path),
        fingerprint=fingerprint,
        reader_cfg=dict(input_columns=[], output_column=None),
        infer_cfg=dict(
            prompt_template=prompt_template,
            retriever=dict(type=ZeroRetriever),
            inferencer=inferencer),
        eval_cfg=dict(evaluator=evaluator))


salience_texts_datasets = [
    salience_texts(join(dirname(__file__), '../../demo/texts.jsonl'))
]
