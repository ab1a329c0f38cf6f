"""Real language models, and worse versions of them, token by token.

    python -m tools.studies.real_models collect FOLDER
    python -m tools.studies.real_models report FOLDER

The first command fetches four small pretrained models and the requests of
twelve benchmarks, makes worse versions of the models, and runs all of them
through OpenCompass: accuracies, and token losses on texts. The second one
compares ways to predict the accuracies from the losses.
"""
