"""What a config's check says before any model runs."""
import pytest
from opencompass.models import OpenAI

from csv_plugin.core.conventions import InputError
from csv_plugin.core.predictions import Missing
from csv_plugin.demo import shipped
from csv_plugin.io.predictors import load_predictor
from csv_plugin.oc.inferencers import TokenLossInferencer
from csv_plugin.oc.run_checks import check_benchmarks, check_run, names_in_run

TEXTS = dict(
    abbr='salience_texts-0123456789ab',
    infer_cfg=dict(inferencer=dict(type=TokenLossInferencer)),
    eval_cfg=dict(evaluator=dict()))
EXAM = dict(abbr='my_exam', infer_cfg=dict(inferencer=dict(type='Gen')))


@pytest.mark.parametrize('has, lacks', [
    ('ARC-e', 'ARC-c'), ('cmmlu', 'mmlu'), ('ceval', 'ceval-test'),
    ('aime2024', 'aime2025'), ('my_exam', 'your_exam'), ('siqa', 'siqa_siqa')
])  # yapf: disable
def test_a_benchmark_of_another_run_is_no_typing_error(has, lacks):
    names = [('x', lacks), ('y', (lacks, 'accuracy'))]
    assert names_in_run(names, [dict(abbr=has)], []) == dict(names)


@pytest.mark.parametrize('typed', ['my_exan', 'my_exm', 'my_exxam', 'my_eaxm'])
def test_a_typing_error_is_refused(typed):
    for name in typed, (typed, 'accuracy'):
        with pytest.raises(InputError, match="my_exam, found '" + typed):
            names_in_run([('x', name)], [EXAM], [])
    both = [EXAM, dict(abbr=typed + 'e'), dict(abbr=typed + 'f')]
    assert names_in_run([('x', typed)], both, []), 'it may be any of these'
    assert names_in_run([(typed, typed)], [EXAM], [])
    assert names_in_run([('x', typed)], [EXAM], [], [typed])


def config_with(**options):
    """A run of one model on one exam, with these options of a summary."""
    return dict(
        models=[dict(abbr='m', type='HuggingFaceBaseModel')],
        datasets=[EXAM],
        summarizer=dict(type='PredictedSummarizer', **options))


def test_benchmarks_that_are_not_run_are_named():
    config = config_with(
        predictors=[('predicted', str(shipped.PREDICTOR))],
        benchmarks=[('census', 'my_exam'), ('sums', ('gsm8k', 'f1'))])
    [no_texts, missing] = check_run(config)
    assert 'is called gsm8k:' in missing
    assert 'are not in this run' in no_texts


def test_options_that_the_summarizer_does_not_have_are_refused():
    config = config_with(predictor=[('predicted', str(shipped.PREDICTOR))])
    with pytest.raises(
            InputError,
            match='option of PredictedSummarizer: .*'
            "found 'predictor'. Did you mean 'predictors'"):
        check_run(config)
    # Options of OpenCompass's summarizers.
    assert check_run(config_with(dataset_abbrs=['my_exam'])) == []


@pytest.mark.parametrize('models, found', [
    ('m', ''),
    ('n', "expected accuracies of models with losses"),
])
def test_known_accuracies_are_read_before_models_run(tmp_path, models, found):
    path = tmp_path / 'known.csv'
    path.write_text('model,sums,exam\nm,0.5,0.1\n')
    config = dict(
        models=[dict(abbr=models, type='HuggingFaceBaseModel')],
        datasets=[EXAM],
        summarizer=dict(
            type='PredictedSummarizer',
            predictors=[('predicted', str(shipped.PREDICTOR))],
            known=str(path)))
    if models == 'm':
        assert any('do not count: exam' in note for note in check_run(config))
    else:
        with pytest.raises(InputError, match=found):
            check_run(config)


class Scoring(OpenAI):
    """A model behind an API that returns losses."""

    def get_token_loss(self, texts, part=None, **settings):
        raise NotImplementedError


def test_models_behind_an_api_give_no_losses():
    served = dict(abbr='served', type=OpenAI)
    config = dict(models=[served], datasets=[EXAM, TEXTS])
    assert "model 'served': it gives no token losses" in check_run(config)[0]
    assert not check_run({**config, 'datasets': [EXAM]})
    wrapped = dict(served, type='TokenLossModel', llm=dict(type=OpenAI))
    assert len(check_run({**config, 'models': [wrapped]})) == 1
    able = [dict(wrapped, engine=dict(type='E')),
            dict(abbr='scoring', type=Scoring)]  # yapf: disable
    assert not check_run({**config, 'models': able})


def test_names_are_judged_once_all_predictors_are_there():
    there = load_predictor(shipped.PREDICTOR)
    check_benchmarks(['tides'], {'a': there, 'b': Missing('no file')})
    for name, near in (('tides', 'census, chin.*'), ('sum', 'sums')):
        with pytest.raises(InputError, match=f": {near}, found '{name}'"):
            check_benchmarks([name], {'a': there})
