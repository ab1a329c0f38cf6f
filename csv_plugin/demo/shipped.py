"""Where the files of the demonstration lie in the package."""
from pathlib import Path

#: Folder of all of them.
FOLDER = Path(__file__).resolve().parent
#: Held-out models and the tokenizers of all series.
ZOO = FOLDER / 'zoo'
#: Dumps and accuracies of the whole zoo; see `io.collection`.
COLLECTION = FOLDER / 'collection'
#: The questions of each exam, one file of JSON lines an exam.
EXAMS = FOLDER / 'exam_items'
#: Losses of the right answers of each exam.
LABEL_LOSSES = FOLDER / 'label_losses.csv'
#: The validation set.
TEXTS = FOLDER / 'texts.jsonl'
#: The scoring LM, one of the largest models.
SCORING_LM = ZOO / 'a' / 'l' / '100'
SCORING_TOKENIZER = ZOO / 'a' / 'tokenizer'
#: The predictors that the summarizer shows: the default method and the
#: mean loss, the baseline.
PREDICTOR = FOLDER / 'predictor.safetensors'
BASELINE = FOLDER / 'predictor_mean_loss.safetensors'
