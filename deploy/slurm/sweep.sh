#!/bin/sh
# A scenario in simulation, each task of the array a shard of its runs. From the root of the checkout, or with paths:
#   sbatch --array=0-7 deploy/slurm/sweep.sh scenarios/controllers.toml out/sweep
#   sbatch --dependency=afterok:JOBID --wrap 'tailwater merge out/sweep/shard-* --out out/sweep/whole'
#SBATCH --job-name=tailwater-sweep
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --time=04:00:00
set -eu

usage="type: sbatch --array=0-7 $0 SCENARIO FOLDER"
scenario=${1:?no scenario was found; $usage}
folder=${2:?no folder for results was found; $usage}
task=${SLURM_ARRAY_TASK_ID:?no task of an array was found; $usage}
tasks=${SLURM_ARRAY_TASK_COUNT:?no number of tasks was found; $usage}
first=${SLURM_ARRAY_TASK_MIN:?no first task was found; $usage}

# Shards are counted from 0, whatever the array's first task is; with a step between tasks some would have no number.
shard=$((task - first))
if [ "${SLURM_ARRAY_TASK_STEP:-1}" != 1 ] || [ "$shard" -ge "$tasks" ]; then
    echo "found an array with gaps; one without is needed: $usage" >&2
    exit 2
fi
mkdir -p "$folder"
exec "${TAILWATER:-tailwater}" run "$scenario" --on sim --shard "$shard/$tasks" --threads 1 \
    --out "$folder/shard-$shard"
