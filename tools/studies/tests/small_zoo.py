"""The zoo on a part of its texts."""
from csv_plugin.demo import shipped
from tools.studies.zoo_study import ZooStudy


def small_zoo() -> ZooStudy:
    """Every seventh text, for speed."""
    study = ZooStudy.load(shipped.COLLECTION, shipped.SCORING_LM,
                          shipped.SCORING_TOKENIZER)
    return study.of_texts(study.collection.texts.texts[::7])
