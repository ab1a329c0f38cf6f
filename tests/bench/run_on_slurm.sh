#!/bin/bash
# Run the recipe of docs/cluster.md on a real Slurm (Debian, as root):
#
#     bash tests/bench/run_on_slurm.sh FOLDER
#
# Starts Slurm on this machine, scores 28 checkpoints by one process and by the
# array of eight tasks, of which two are killed and one is requeued, submits the
# array again, compares the dumps and stops Slurm. FOLDER keeps results and logs.
set -eu
root=$(pwd)
mkdir -p "$1"
cd "$1"
folder=$(pwd)
export PATH="$root/.venv/bin:$PATH"
. "$root/tests/bench/single_node_slurm.sh" "$folder" 8

# The script of the page; this machine has no GPU to ask for.
sed -n '/#!\/bin\/bash/,/--texts/s/^    //p' "$root/docs/cluster.md" |
    grep -v -e --gpus >losses.sbatch
cp "$root/csv_plugin/demo/texts.jsonl" texts.jsonl
for copy in 1 2 3 4; do
    for path in "$root"/csv_plugin/demo/zoo/?/?/*; do
        name=$(echo "${path#*/zoo/}" | tr / -)-$copy
        mkdir -p "models/$name"
        cp "$path"/* "$path"/../../tokenizer/* "models/$name"
        echo "$folder/models/$name"
    done
done >models.txt
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1
mapfile -t models <models.txt
seconds=$SECONDS
salience losses "${models[@]}" --texts texts.jsonl --out outputs/one \
    >one.log 2>&1
echo "one process: ${#models[@]} models in $((SECONDS - seconds)) s"

wait_for_array() {
    while [ -n "$(squeue --noheader --job "$1")" ]; do sleep 1; done
}
id=$(sbatch --parsable losses.sbatch)
running() { squeue --noheader --state running --job "$id"; }
until [ "$(running | wc -l)" -ge 3 ]; do sleep 1; done
sleep 8
pkill -KILL -f -- '--part 1/8'
scancel "${id}_1"
scontrol requeue "${id}_2"
wait_for_array "$id"
echo 'after a KILL, an scancel and a requeue:'
salience status outputs/many --list models.txt || true
id=$(sbatch --parsable losses.sbatch)
wait_for_array "$id"
echo 'after the second submission:'
salience status outputs/many --list models.txt
for path in outputs/one/*.safetensors; do
    cmp "$path" "outputs/many/${path##*/}"
done
echo "$(ls outputs/one/*.safetensors | wc -l) dumps, equal byte for byte"
