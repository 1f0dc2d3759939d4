#!/bin/sh
# What each option of `tailwater profile attach` costs what clients see of memcached and Redis: --holds, --lines, --kernel, and
# all three. No scanner looks (--scanners 0), and the function that handles requests times its own calls (`profile build --clock`).
# In a closed loop on all cores, each beside the same server that nobody records.
#
# Usage: examples/profiling/options.sh [ROUNDS [SECONDS]]      6 rounds of six runs of 5 s for each server when not given
#
# Builds the servers by patched.sh. Writes results/options-NAME.json. Needs `tailwater` on the PATH with its pass (make pass), and
# root for --kernel. Traces come to lie in out/options.
set -eu
rounds=${1:-6} seconds=${2:-5}
cd "$(dirname "$0")/../.."
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile

# `costs NAME TITLE FUNCTION`
costs() {
    program=$(examples/profiling/patched.sh "$1" "$3" | tail -n 1)
    version=${program#out/patched/"$1"-}
    "$bench" options "$1" --program "$program" --title "$2 ${version%-clock/*}" --folder "out/options/$1" --with=--scanners=0 \
        --rounds "$rounds" --seconds "$seconds" --out "results/options-$1.json"
}

costs memcached memcached drive_machine
costs redis Redis readQueryFromClient
