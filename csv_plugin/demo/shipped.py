"""Paths of the files of the demonstration in the package."""
from pathlib import Path

#: Folder of all files of the demonstration.
FOLDER = Path(__file__).resolve().parent
#: Folder of the held-out models and the tokenizers of all series.
ZOO = FOLDER / 'zoo'
#: Folder of token losses and accuracies of all models, also of models that do
#: not come with the package; see `io.collection`.
COLLECTION = FOLDER / 'collection'
#: Folder of the questions, one file of JSON lines per exam.
EXAMS = FOLDER / 'exam_items'
#: Table of models' mean losses on the right answers of each exam.
LABEL_LOSSES = FOLDER / 'label_losses.csv'
#: The validation set on which token losses were measured.
TEXTS = FOLDER / 'texts.jsonl'
#: Folders of the scoring LM, one of the largest models, and its tokenizer.
SCORING_LM = ZOO / 'a' / 'l' / '100'
SCORING_TOKENIZER = ZOO / 'a' / 'tokenizer'
#: The predictors that the summarizer shows: one of the default method, and one
#: from the mean loss as a baseline.
PREDICTOR = FOLDER / 'predictor.safetensors'
BASELINE = FOLDER / 'predictor_mean_loss.safetensors'
