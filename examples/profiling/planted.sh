#!/bin/sh
# A slow path that is planted in memcached and Redis: one request of 5,000 takes it, and the compiler inlines it. Each server is
# recorded with --lines in a closed loop, and the report is asked at which place of all lines it is.
#
# Usage: examples/profiling/planted.sh [RUNS [SECONDS]]      7 runs of 5 s for each server when not given
#
# Builds the servers by patched.sh, and writes results/planted-NAME.json. Needs `tailwater` on the PATH with its pass (make pass).
set -eu
runs=${1:-7} seconds=${2:-5}
cd "$(dirname "$0")/../.."
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile
for name in memcached redis; do
    program=$(examples/profiling/patched.sh "$name" "" planted | tail -n 1)
    version=${program#out/patched/"$name"-}
    version=${version%%-planted/*}
    case $name in redis) title=Redis ;; *) title=$name ;; esac
    "$bench" planted "$name" --program "$program" --title "$title $version" --folder "out/planted/$name" --runs "$runs" \
        --seconds "$seconds" --out "results/planted-$name.json"
done
