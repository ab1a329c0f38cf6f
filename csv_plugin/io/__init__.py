"""Files: everything that the method reads and writes, without pickle.

`dumps` holds the file format of token-loss dumps and `shards` joins those of
one model; `predictors` stores trained predictors and `text_sets` validation
sets. `tables` reads the tables that users write, on top of `csv_rows` and, for
losses and accuracies in any format, `model_columns`.
`collection` is the folder that a predictor is trained on, `collecting` makes
it, and `model_tables` reads four tables in its place. `runs` reads the work
directories of OpenCompass, `importers` what other programs wrote, and
`checkpoint_folders` finds checkpoints.
`known_benchmarks` and `paper` are tables that come with the package,
`model_splits` splits models, and `files` has what all of these share.

Nothing in here imports torch, transformers or opencompass.
"""
