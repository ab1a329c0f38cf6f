#!/bin/bash
# Run configs/eval_csv_slurm.py on a real Slurm (Debian, as root):
#
#     bash tests/bench/run_config_on_slurm.sh FOLDER
#
# Starts Slurm on this machine, runs the config with two models of the
# demonstration by `-p`, and configs/eval_csv.py with the same models by
# `--slurm -p` and without Slurm, compares the dumps and stops Slurm. FOLDER
# keeps results and logs.
set -eu
root=$(pwd)
mkdir -p "$1"
cd "$1"
folder=$(pwd)
export PATH="$root/.venv/bin:$PATH"
. "$root/tests/bench/single_node_slurm.sh" "$folder" 2

export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1
for name in eval_csv_slurm eval_csv; do
    sed "s/^models = .*/models = held_out_models[:2]/; s/^work_dir = .*//" \
        "$root/configs/$name.py" >"$name.py"
done
run() {
    seconds=$SECONDS code=0
    opencompass "${@:2}" -w "$1" >"$1.log" 2>&1 || code=$?
    echo "$1: exit code $code, $((SECONDS - seconds)) s," \
        "$(find "$1" -name '*.safetensors' | wc -l) dumps," \
        "$(find "$1" -path '*results*' -name '*.json' | wc -l) results"
}
run slurm eval_csv_slurm.py -p main
run by_option eval_csv.py --slurm -p main
run local eval_csv.py
for path in slurm/*/predictions/*/*.safetensors; do
    for other in by_option local; do
        cmp "$path" "$other"/*/"${path#slurm/*/}"
    done
done
echo 'dumps equal byte for byte'
