"""Run five exams on Tidewell, an invented world, with 240 questions each."""
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer, PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from csv_plugin.demo.exams import TidewellExam, tidewell_final_answer


def choice_exam(kind: str) -> dict:
    """Return the dataset entry of an exam with four options per question."""
    template = {label: '{question}{' + label + '}' for label in 'ABCD'}
    return dict(
        abbr=kind,
        type=TidewellExam,
        kind=kind,
        reader_cfg=dict(
            input_columns=['question', 'A', 'B', 'C', 'D'],
            output_column='label'),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=template),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=PPLInferencer)),
        eval_cfg=dict(evaluator=dict(type=AccEvaluator)))


def solution_exam(kind: str, n_tokens: int) -> dict:
    """Return the dataset entry of an exam whose solutions are generated.

    At most `n_tokens` tokens are generated per question.
    """
    return dict(
        abbr=kind,
        type=TidewellExam,
        kind=kind,
        reader_cfg=dict(input_columns=['question'], output_column='label'),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template='{question}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer, max_out_len=n_tokens)),
        eval_cfg=dict(
            evaluator=dict(type=AccEvaluator),
            pred_postprocessor=dict(type=tidewell_final_answer)))


tidewell_exams_datasets = [
    choice_exam('census'),
    choice_exam('chinese'),
    choice_exam('scenes'),
    solution_exam('sums', 64),
    solution_exam('swaps', 176),
]
del choice_exam, solution_exam
