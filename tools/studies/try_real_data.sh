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

step "$python" tools/build_validation_set.py --sample mmlu=100 \
    --sample bbh=100 --sample gsm8k=100 --sample cmmlu=100 \
    --sample bbh_cot=50 --out $out/texts

# A run that was begun is finished, by OpenCompass's own means.
begun=($out/runs/2*)
opencompass $([ -e "${begun[0]}" ] && echo -r)

cat > $out/models.csv <<'EOF'
model,family,split
a-l@100,series a,train
b-l@50,series b,train
c-l@80,series c,train
d-s@100,series d,train
d-m@65,series d,validation
d-l@100,series d,test
EOF
step "$python" tools/train_scoring_head.py --runs $out/runs/2* \
    --texts $out/texts/texts.jsonl --models $out/models.csv \
    --tasks mmlu bbh gsm8k cmmlu \
    --scoring-lm $zoo/a/l/100 --tokenizer $zoo/a/tokenizer \
    --out $out/predictor

opencompass -r -m viz
printf '\n[%s] Done.\n' "$(date +%T)"
