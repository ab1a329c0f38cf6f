#!/usr/bin/env bash
# From real benchmarks to predictions, offline, on the embedded models:
#
#     COMPASS_DATA_CACHE=../shared tools/studies/try_real_data.sh
#
# Everything goes to outputs/trial; relative paths start at the checkout.
# Started again after it was killed, it goes on where it was. PYTHON chooses
# the interpreter (default .venv/bin/python).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=${PYTHON:-.venv/bin/python}
out=outputs/trial
zoo=csv_plugin/demo/zoo
# Small models are fastest on one thread each.
export OMP_NUM_THREADS=1

step() {
    printf '\n[%s] $ %s\n' "$(date +%T)" "$*"
    "$@"
}

opencompass() {
    step "$python" -c 'from opencompass.cli.main import main; main()' \
        configs/eval_csv_trial.py "$@"
}

step "$python" tools/build_validation_set.py --skip-missing --out $out/texts

# A run that was begun is finished, by OpenCompass's own means.
begun=($out/runs/2*)
opencompass $([ -e "${begun[0]}" ] && echo -r)

cat > $out/models.csv <<'EOF'
model,family,params_b
a-l@100,series a,0.00043
b-l@50,series b,0.00048
c-l@80,series c,0.00041
d-s@100,series d,0.00008
d-m@65,series d,0.00018
d-l@100,series d,0.00038
EOF
step "$python" tools/train_scoring_head.py --runs $out/runs/2* \
    --texts $out/texts/texts.jsonl --models $out/models.csv \
    --split family-size --tasks mmlu bbh gsm8k cmmlu \
    --scoring-lm $zoo/a/l/100 --tokenizer $zoo/a/tokenizer \
    --out $out/predictor

opencompass -r -m viz
printf '\n[%s] Done.\n' "$(date +%T)"
