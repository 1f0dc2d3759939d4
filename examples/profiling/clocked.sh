#!/bin/sh
# The p99.9 of the function that handles requests in memcached and Redis: as `tailwater profile report` tells it, and as the
# servers measure it by their own clock at the function's entry and exit. And what clients see of a recording. Both in a
# closed loop on all cores.
#
# Usage: examples/profiling/clocked.sh [RUNS [SECONDS]]      7 runs and 7 pairs of 5 s for each server when not given
#
# Builds the servers by patched.sh. Writes results/clocked-NAME.json and results/recorded-NAME.json. Needs `tailwater` on the
# PATH with its pass (make pass). Traces come to lie in out/clocked.
set -eu
runs=${1:-7} seconds=${2:-5}
cd "$(dirname "$0")/../.."
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile

# `both NAME TITLE`.
both() {
    program=$(examples/profiling/patched.sh "$1" | tail -n 1)
    version=${program#out/patched/"$1"-}
    set -- "$1" --program "$program" --title "$2 ${version%%/*}" --folder "out/clocked/$1" --seconds "$seconds"
    "$bench" clocked "$@" --runs "$runs" --out "results/clocked-$1.json"
    "$bench" recorded "$@" --pairs "$runs" --out "results/recorded-$1.json"
}

both memcached memcached
both redis Redis
