"""What of README and docs `test_pages.py` does not run, and why.

All else is run there, in the order of the page. An entry holds for all
commands of a page, or its blocks of Python, that begin with its words.
"""
BY_CI = '.ci/run does it'
BY_BENCH = 'takes minutes; its test runs less'
DATA = ('needs the data of the benchmarks; tests/cli/'
        'test_build_validation_set.py runs it on invented data')
PUBLIC = 'tests/test_real_models.py, where the tables are at hand'
PAPER = ('needs models of the hub and the data of the benchmarks; '
         'tests/oc/test_paper_configs.py runs the config on small models')
PAPER_MODELS = (
    'needs models of the hub; tests/cli/test_train_scoring_head.py '
    'trains with such splits and scores')
PAPER_LIST = (
    'needs models of the hub; tests/cli/test_plan_scoring.py runs it on '
    'small models')
TRAINED = 'takes long; docs/training.md has the command, and it is run there'
KNOWN = 'tests/cli/test_predict_accuracies.py has models of two families'
DEMO = 'takes minutes; tests/test_packaging.py starts it'
ZOO = 'takes an hour; tests/demo and tests/cli do it with less'
FORECAST = 'tests/cli/test_forecast_runs.py has runs with checkpoints'
STUDY = 'takes minutes; tests/demo/studies runs less'
VLLM = 'needs vLLM and a GPU; tests/lm/engines has stand-ins'
HARNESS = 'needs lm-evaluation-harness'
HOST = 'needs a clone of OpenCompass'
ON_HUB = 'needs the hub; tests/cli/test_list_predictors.py has a small one'
LIVE = 'trains; tests/live has such trainings of small models'

#: Reasons, by page and first words.
NOT_RUN = {
    'README.md': {
        'make': BY_CI,
        'pip install': 'downloads OpenCompass; .ci/run installs by make',
        'salience fit --losses ../shared/real': PUBLIC,
        'salience texts': DATA,
        'salience train': TRAINED,
    },
    'CONTRIBUTING.md': {
        'make test-long':
        'takes long; run after a change of a solver or of the zoo',
        'make coverage':
        'runs the tests that .ci/run runs',
        'make':
        BY_CI,
        'python -m tests.bench.same_results':
        'takes minutes; tests/bench/test_same_results.py runs less',
    },
    'docs/benchmarks_worth_running.md': {
        'salience benchmarks --losses':
        'tests/triage/test_benchmark_trust.py, where the tables are at hand',
    },
    'docs/cluster.md': {
        'sbatch': 'needs Slurm; tests/cluster/run_on_slurm.sh installs it',
        'sh tests/cluster/run_on_slurm.sh':
        'installs Slurm, and takes minutes',
    },
    'docs/bits_per_character.md': {
        'from datasets import load_dataset':
        'downloads the corpora',
        'opencompass':
        'tests/test_packaging.py runs it on a model of the zoo',
        'salience fit':
        'tests/oc/test_bits_per_character.py runs it',
        'import pandas':
        'needs what the command before it writes',
        'python -m tools.studies.compare_methods':
        'takes a minute; test_compare_methods.py runs less',
    },
    'docs/command.md': {
        'salience forecast': FORECAST,
        'salience demo': DEMO,
        'salience predict --losses losses.csv --known': KNOWN,
        'salience texts': DATA,
        'salience losses my-model --engine vllm': VLLM,
        'salience predictors hub:': ON_HUB,
        'salience train': TRAINED,
    },
    'docs/engines.md': {
        'llm = vllm.LLM': VLLM,
        'engine = cp.CompletionsEngine':
        'needs a server; tests/extras/engines/test_completions.py has one',
        'engine = cp.CTranslate2Engine':
        'tests/extras/engines/test_ctranslate2.py runs a model',
        'engine = cp.LlamaCppEngine':
        'needs llama-cpp-python; tests/lm/engines has stand-ins',
        'sh tests/bench/vllm_environment.sh': 'installs vLLM',
        'COMPASS_DATA_CACHE=../shared salience texts': DATA,
        'OMP_NUM_THREADS=1 FOLDER/bin/python': VLLM,
        'FOLDER/bin/python': VLLM,
    },
    'docs/how_many_models.md': {
        'python -m tools.studies.study_models':
        'takes minutes; test_study_models.py runs less',
    },
    'docs/importing.md': {
        'lm_eval': HARNESS,
        'python -m tests.bench.compare_lm_eval': HARNESS,
    },
    'docs/live.md': {
        'import csv_plugin as cp\n\ncallback =': LIVE,
        'live = ': LIVE,
        'sh tests/live/real_trackers.sh': 'installs the trackers',
        'OMP_NUM_THREADS=1 python -m tools.studies.live_training':
        'takes minutes',
    },
    'docs/opencompass.md': {
        'opencompass --models hf_qwen2_7b':
        'needs the hub; tests/test_packaging.py runs less',
        'opencompass --models tidewell_zoo':
        'takes minutes; tests/oc/test_chosen_predictors.py runs less',
        'git checkout': HOST,
        'python -m pytest': HOST,
    },
    'docs/other_methods.md': {
        'OMP_NUM_THREADS=1 python -m tools.studies.compare_real_methods':
        'takes minutes; test_compare_real_methods.py runs less',
    },
    'docs/paper_setting.md': {
        'salience texts': DATA,
        'opencompass': PAPER,
        'salience losses': PAPER_LIST,
        'salience train --dumps': PAPER_LIST,
        'salience predict': PAPER_LIST,
        'salience train --runs outputs/paper_losses': PAPER,
        'salience train': PAPER_MODELS,
    },
    'docs/partial_scores.md': {
        'python -m tools.studies.study_partial_scores':
        'takes minutes: test_study_partial_scores.py has less',
        'salience predict': KNOWN,
    },
    'docs/performance.md': {
        'OMP_NUM_THREADS=1 python': BY_BENCH,
        'python -m tests.bench.bench_gpu': f'needs a GPU; {BY_BENCH}',
        'salience losses --models FOLDER': 'reads the models of bench_gpu',
        'python -m tools.studies.compare_methods --losses $T': PUBLIC,
    },
    'docs/quickstart.md': {
        'make demo': BY_CI,
        'opencompass --hf-path':
        'tests/oc/test_chosen_predictors.py runs a command without a config',
        'python -m tools.studies.train_demo_zoo': ZOO,
        'opencompass configs/eval_csv_collect.py': ZOO,
        'python -m tools.studies.build_demo': ZOO,
        'python -m tools.studies.study_demo_zoo': STUDY,
        'python -m tools.studies.study_fresh_series': ZOO,
    },
    'docs/real_data.md': {
        'COMPASS_DATA_CACHE=':
        'takes minutes, and needs the data of the benchmarks',
        '.venv/bin/python -m pip install': 'downloads a model',
    },
    'docs/reliability.md': {
        'OMP_NUM_THREADS=1 python -m tests.faults.fuzz':
        'takes minutes; tests/faults/test_fuzz.py runs less',
        'python -m tests.faults.kills':
        'takes minutes; tests/faults/test_kills.py runs less',
        'sudo python -m tests.faults.full_disks': 'mounts file systems',
    },
    'docs/results.md': {
        'python -m tools.studies.noise_of_items':
        'needs public tables; tools/studies/tests has made-up ones',
        'python -m tools.studies.public_tables':
        'needs clones; test_public_tables.py has made-up ones',
        'OMP_NUM_THREADS=1 python -m tools.studies.averaging_study':
        'takes minutes',
        'OMP_NUM_THREADS=1 python -m tools.studies.intervals_study': BY_BENCH,
        'OMP_NUM_THREADS=1 python -m tools.studies.larger_models':
        'takes minutes; test_public_tables.py judges a few models',
        'python -m tools.studies.compare_methods --losses outputs/ladder':
        'test_compare_methods.py compares on made-up tables',
        'python -m tools.studies.study_demo_zoo': STUDY,
        'python -m tools.studies.study_fresh_series': ZOO,
        'python -m tools.studies.study_texts':
        'takes minutes; test_study_texts.py runs less',
        'python -m tools.studies.study_triage': STUDY,
        'salience forecast --losses ../shared/real': FORECAST,
        'salience fit --losses ../shared/real': PUBLIC,
    },
    'docs/sharing.md': {
        'salience predictors hub:': ON_HUB,
        'salience predictors outputs/predictor --upload': ON_HUB,
    },
    'docs/training.md': {
        'salience train --collection': TRAINED,
        'salience train --method': TRAINED,
        'salience train --runs outputs/paper': PAPER_MODELS,
    },
    'docs/triage.md': {
        'python -m tools.studies.public_tables':
        'needs a clone of a repository',
        'salience forecast': FORECAST,
    },
    'docs/validation_sets.md': {
        'python -m tools.studies.study_units':
        'takes an hour; test_study_units.py runs less',
        'salience fit --choose':
        'has 100 units; tests/cli/test_fit_from_tables.py chooses two',
        'salience losses outputs/smollm2': 'needs SmolLM2',
        'python -m tools.studies.describe_texts': BY_BENCH,
        'salience texts --out': DATA,
        'time salience texts': DATA,
    },
}

#: First words of blocks that are no code, by page.
TEXT = {
    'README.md': ['losses (models x tokens)'],
    'docs/concepts.md':
    ['exp(-excess / 0.05)', 'c x + d t', 'd = |e - w| / (1 + |w|)'],
    'docs/quickstart.md': ['                      mean of 5'],
    'docs/real_data.md':
    ['name     dataset', '6 models, 5 to fit to', '                mmlu'],
    'docs/tokenizers.md': ["text 'english'"],
    'docs/cluster.md': ['G x (20 s + ', 'slurm-wlm 22.05.8'],
    'docs/live.md': ['predicted (interval) real'],
    'docs/triage.md': ['run      from'],
    'docs/validation_sets.md':
    ['Which of these floats', '--out outputs/texts', '- name: mmlu'],
}
