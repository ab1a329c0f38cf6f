#!/bin/sh
# Trains with each tracker, and reads what it has kept; see real_trackers.py.
# Makes two environments below FOLDER, one of them for Trackio, whose packages
# do not go together with those of the constraints.
#
#     sh tools/studies/real_trackers.sh FOLDER
set -e
mkdir -p "$1"
folder=$(cd "$1" && pwd)
export OMP_NUM_THREADS=1 MLFLOW_ALLOW_FILE_STORE=true
export MLFLOW_TRACKING_URI="file://$folder/mlruns"
rm -rf "$folder/results" "$folder/mlruns"

environment() {  # name, packages
    [ -e "$folder/$1/installed" ] && return
    python3 -m venv --clear "$folder/$1"
    "$folder/$1/bin/pip" install -q . 'transformers>=4.46' accelerate \
        torch==2.13.0 tensorboardX $2
    touch "$folder/$1/installed"
}

try() {  # environment, tracker
    echo "== $2"
    "$folder/$1/bin/python" -m tools.studies.real_trackers "$2" \
        "$folder/results/$2"
}

environment others 'tensorboard wandb mlflow'
environment trackio trackio
for tracker in tensorboard wandb mlflow; do
    try others "$tracker"
done
try trackio trackio
