#!/bin/sh
# A scenario in simulation, each task of the array a shard of its runs. From the root of the checkout, or with paths:
#   TAILWATER_SHARDS=8 sbatch --array=0-7 deploy/slurm/sweep.sh scenarios/controllers.toml out/sweep
#   sbatch --dependency=afterok:JOBID --wrap 'tailwater merge out/sweep/shard-* --out out/sweep/whole'
# A task that failed is submitted again by its number alone, with the same TAILWATER_SHARDS: --array=3.
#SBATCH --job-name=tailwater-sweep
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --time=04:00:00
set -eu

usage="type: TAILWATER_SHARDS=8 sbatch --array=0-7 $0 SCENARIO FOLDER"
scenario=${1:?no scenario was found; $usage}
folder=${2:?no folder for results was found; $usage}
shard=${SLURM_ARRAY_TASK_ID:?no task of an array was found; $usage}
# The array's own count is no number of shards: it is 1 where one task is submitted again.
shards=${TAILWATER_SHARDS:?no number of shards was found; $usage}

out="$folder/shard-$shard"
# A result says which shard it is. Another scenario's is found when they are merged.
if [ -e "$out/result.json" ]; then
    held=$(sed -n '/"shard": {/,/}/p' "$out/result.json" | sed -En 's/.*"(index|of)": ([0-9]+).*/\2/p' | paste -sd/)
    if [ "$held" != "$shard/$shards" ]; then
        echo "found in $out the result of shard ${held:-(none)}; $shard/$shards is to be written: name another folder" >&2
        exit 2
    fi
fi
exec "${TAILWATER:-tailwater}" run "$scenario" --on sim --shard "$shard/$shards" --threads 1 --out "$out"
