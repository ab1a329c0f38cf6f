"""What needs a cluster; `run_on_slurm.sh` makes one of a single machine."""
