"""Where the files of the demonstration lie in the package."""
from pathlib import Path

#: Folder of all of them.
FOLDER = Path(__file__).resolve().parent
#: Held-out models and the tokenizers of all series; see `zoo_files`.
ZOO = FOLDER / 'zoo'
#: Dumps and accuracies of the whole zoo; see `io.collection`.
COLLECTION = FOLDER / 'collection'
#: Losses of the right answers of each exam; see `building`.
LABEL_LOSSES = FOLDER / 'label_losses.csv'
#: The validation set.
TEXTS = FOLDER / 'texts.jsonl'
#: The scoring LM, one of the largest models.
SCORING_LM = ZOO / 'a' / 'l' / '100'
SCORING_TOKENIZER = ZOO / 'a' / 'tokenizer'
#: The predictors that the summarizer shows: the default method and the
#: all-token baseline.
PREDICTOR = FOLDER / 'predictor.safetensors'
BASELINE = FOLDER / 'predictor_uniform.safetensors'
