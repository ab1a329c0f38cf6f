# Start Slurm on this machine (Debian, as root), and stop it at the end:
#
#     . tests/bench/single_node_slurm.sh FOLDER CPUS
#
# FOLDER, an absolute path, keeps its files and logs; the node says that it has
# CPUS processors.
command -v slurmctld >/dev/null && command -v munged >/dev/null || {
    apt-get update -qq
    apt-get install -y -qq slurm-wlm munge
}

daemons=$1/daemons
mkdir -p "$daemons/state" "$daemons/slurmd" "$daemons/munge"
# munged refuses a socket in a folder that others can write to.
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
NodeName=$host CPUs=$2
PartitionName=main Nodes=$host Default=YES
END
export SLURM_CONF="$daemons/slurm.conf"
stop() {
    scancel --quiet --partition main || true
    for name in slurmd slurmctld munge/munged; do
        [ ! -f "$daemons/$name.pid" ] || kill "$(cat "$daemons/$name.pid")" || true
    done
}
trap stop EXIT
(umask 077 && head -c 1024 /dev/urandom >"$daemons/munge/key")
munged --force --key-file="$daemons/munge/key" \
    --socket="$daemons/munge/socket" --pid-file="$daemons/munge/munged.pid" \
    --log-file="$daemons/munge/log" --seed-file="$daemons/munge/seed"
slurmctld -i
slurmd
srun --nodes 1 true
echo "$(sinfo --version), $(nproc) CPUs, $(
    sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
