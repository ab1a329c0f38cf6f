from tools.studies import study_own_answers


def test_own_answers_predict_the_test_models_of_the_demonstration() -> None:
    models, test = study_own_answers.demonstration_models()
    assert [part.shape for part in models.answers] == [
        (252, 176), (252, 116), (252, 580), (252, 1411), (252, 2716)
    ]  # yapf: disable
    pooled, *_, coverage, _ = study_own_answers.errors(models, [test])
    assert pooled < 2.6
    assert .85 < coverage < .95


def test_left_out_are_all_names_but_the_empty_one() -> None:
    _, kinds = study_own_answers.real_models()
    masks = study_own_answers.each(kinds)
    assert sum(mask.sum() for mask in masks) == (kinds != '').sum()
    assert len(masks) == 5
