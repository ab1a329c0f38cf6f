"""Five exams of a small invented world, 240 questions each."""
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer, PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from csv_plugin.demo.exams import TidewellExam, tidewell_final_answer

tidewell_exams_datasets = [
    dict(
        abbr=kind,
        type=TidewellExam,
        kind=kind,
        reader_cfg=dict(
            input_columns=['question', 'A', 'B', 'C', 'D'],
            output_column='label'),
        infer_cfg=dict(
            prompt_template=dict(
                type=PromptTemplate,
                template={
                    label: '{question}{' + label + '}'
                    for label in 'ABCD'
                }),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=PPLInferencer)),
        eval_cfg=dict(evaluator=dict(type=AccEvaluator)))
    for kind in ['census', 'chinese', 'scenes']
] + [
    dict(
        abbr=kind,
        type=TidewellExam,
        kind=kind,
        reader_cfg=dict(input_columns=['question'], output_column='label'),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template='{question}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer, max_out_len=length)),
        eval_cfg=dict(
            evaluator=dict(type=AccEvaluator),
            pred_postprocessor=dict(type=tidewell_final_answer)))
    # Exams with worked solutions, and tokens of the longest solution.
    for kind, length in [('sums', 64), ('swaps', 176)]
]
