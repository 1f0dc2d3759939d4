#!/bin/sh
# The p99.9 of the function that handles requests in memcached and Redis: as `tailwater profile report` tells it, and as the
# servers measure it by their own clock at the function's entry and exit. And what clients see of a recording, beside the same
# server that nobody records, and one that was built without the profiler. All in a closed loop on all cores. Then the same of servers whose function times its own calls (`profile build --clock`).
#
# Usage: examples/profiling/clocked.sh [RUNS [SECONDS]]      7 runs and 7 rounds of three runs of 5 s for each server when not given
#
# Builds the servers by patched.sh and plain.sh. Writes results/clocked-NAME.json and results/recorded-NAME.json, and of the others
# results/clocked-NAME-clock.json and results/recorded-NAME-clock.json; -clock-alone where no scanner looks, and results/recorded-NAME-cpu-SHARE.json
# where the scanner has so much of a core. Needs `tailwater` on the PATH with its pass (make
# pass). Traces come to lie in out/clocked.
set -eu
runs=${1:-7} seconds=${2:-5}
cd "$(dirname "$0")/../.."
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile

# `both NAME TITLE [FUNCTION [OPTION]]`: with a function, that one times its own calls; the option is the recorder's.
both() {
    program=$(examples/profiling/patched.sh "$1" ${3:+"$3"} | tail -n 1)
    plain=$(examples/profiling/plain.sh "$1" | tail -n 1)
    version=${program#out/patched/"$1"-} result=$1${3:+-clock}${4:+-alone}
    version=${version%%/*}
    title="$2 ${version%-clock}${3:+ with --clock}${4:+ and $4}"
    set -- "$1" --program "$program" --title "$title" --folder "out/clocked/$result" --seconds "$seconds" ${4:+"--with=$4"}
    "$bench" clocked "$@" --runs "$runs" --out "results/clocked-$result.json"
    "$bench" recorded "$@" --plain "$plain" --pairs "$runs" --out "results/recorded-$result.json"
}

# `again NAME TITLE FUNCTION`: what clients see with a scanner, in the same hour as without.
again() {
    program=$(examples/profiling/patched.sh "$1" "$3" | tail -n 1)
    plain=$(examples/profiling/plain.sh "$1" | tail -n 1)
    version=${program#out/patched/"$1"-}
    "$bench" recorded "$1" --program "$program" --plain "$plain" --title "$2 ${version%-clock/*} with --clock, again" --folder "out/clocked/$1-clock" \
        --seconds "$seconds" --pairs "$runs" --out "results/recorded-$1-clock-again.json"
}

# `within NAME TITLE SHARE`: what clients see of a scanner that has so many percent of a core at most.
within() {
    program=$(examples/profiling/patched.sh "$1" | tail -n 1)
    plain=$(examples/profiling/plain.sh "$1" | tail -n 1)
    version=${program#out/patched/"$1"-}
    "$bench" recorded "$1" --program "$program" --plain "$plain" --title "$2 ${version%%/*}, --cpu=$3%" --folder "out/clocked/$1" --with="--cpu=$3%" \
        --seconds "$seconds" --pairs "$runs" --out "results/recorded-$1-cpu-$3.json"
}

both memcached memcached
both redis Redis
for share in 25 10 3; do
    within memcached memcached "$share"
    within redis Redis "$share"
done
both memcached memcached drive_machine
both redis Redis readQueryFromClient
# The same without a scanner.
both memcached memcached drive_machine --scanners=0
again memcached memcached drive_machine
both redis Redis readQueryFromClient --scanners=0
again redis Redis readQueryFromClient
