#!/bin/sh
# Start Slurm on this machine (Debian, as root), run the package on it, stop it.
#
#     sh tests/cluster/run_on_slurm.sh FOLDER
#
# FOLDER is made, and keeps the results and the logs. Nothing of /etc is changed.
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
python=${PYTHON:-$(pwd)/.venv/bin/python}
command -v slurmctld >/dev/null && command -v munged >/dev/null || {
    apt-get update -qq
    apt-get install -y -qq slurm-wlm munge
}

daemons=$folder/daemons
mkdir -p "$daemons/state" "$daemons/slurmd" "$daemons/munge"
# munged wants others to reach its socket, but not to write beside it.
chmod 755 "$daemons" "$daemons/munge"
host=$(hostname -s)
cat >"$daemons/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$host
SlurmUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=$daemons/munge/socket
SlurmctldPidFile=$daemons/slurmctld.pid
SlurmctldLogFile=$daemons/slurmctld.log
StateSaveLocation=$daemons/state
SlurmdPidFile=$daemons/slurmd.pid
SlurmdLogFile=$daemons/slurmd.log
SlurmdSpoolDir=$daemons/slurmd
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=5
NodeName=$host CPUs=8
PartitionName=main Nodes=$host Default=YES
END
export SLURM_CONF="$daemons/slurm.conf"
stop() {
    # What runs would run on, and keep the port of slurmd.
    scancel --quiet --partition main || true
    for _ in 1 2 3 4 5 6 7 8 9; do
        [ -n "$(squeue --noheader || true)" ] || break
        sleep 1
    done
    for name in slurmd slurmctld munge/munged; do
        [ ! -f "$daemons/$name.pid" ] || kill "$(cat "$daemons/$name.pid")" || true
    done
}
trap stop EXIT
trap 'exit 1' INT TERM

(umask 077 && head -c 1024 /dev/urandom >"$daemons/munge/key")
munged --force --key-file="$daemons/munge/key" \
    --socket="$daemons/munge/socket" --pid-file="$daemons/munge/munged.pid" \
    --log-file="$daemons/munge/log" --seed-file="$daemons/munge/seed"
slurmctld -i
slurmd
srun --nodes 1 true
echo "$(sinfo --version) on $(nproc) CPUs of$(
    sed -n 's/^model name.*://p' /proc/cpuinfo | head -1), $(
    sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 HF_HUB_OFFLINE=1
"$python" -m tests.cluster.killed_tasks "$folder/losses"
"$python" -m tests.cluster.through_opencompass "$folder/opencompass"
