"""Where the files of the demonstration lie in the package."""
from pathlib import Path

_DEMO = Path(__file__).resolve().parent
#: Held-out models and the tokenizers of all series; see `zoo_files`.
ZOO = _DEMO / 'zoo'
#: Dumps and scores of the whole zoo; see `io.collections`.
COLLECTION = _DEMO / 'collection'
#: The validation set.
TEXTS = _DEMO / 'texts.jsonl'
#: One of the largest models reads the texts for the salience weights.
SCORING_LM = ZOO / 'a' / 'l' / '100'
SCORING_TOKENIZER = ZOO / 'a' / 'tokenizer'
#: What the summarizer uses.
PREDICTOR = _DEMO / 'predictor.safetensors'
BASELINE = _DEMO / 'predictor_uniform.safetensors'
