#!/bin/sh
# What clients of memcached and Redis see of a recording where the server has time to spare: an open load of a fifth of what a closed
# loop gets through, as in LDB's Fig. 15 (NSDI 2024). By turns with the same server that nobody records, and with one that was built
# without the profiler. Then the same of servers whose function times its own calls (`profile build --clock`), without a scanner.
#
# Usage: examples/profiling/open.sh [ROUNDS [SECONDS [SHARE [OPTION…]]]]      6 rounds of three runs of 5 s at 20% when not given
# Options are of `profile recorded`, such as --late 200 (µs; by itself 100) or --spins.
#
# Builds the servers by patched.sh and plain.sh. Writes results/open-memcached-sets.json, open-memcached-gets.json and open-redis.json, and
# -clock-alone where no scanner looks. A round whose load was late does not count, and is measured again. Needs `tailwater` on the
# PATH with its pass (make pass). Traces come to lie in out/open.
set -eu
rounds=${1:-6} seconds=${2:-5} share=${3:-20%} options=
[ $# -le 3 ] || { shift 3 && options=$*; }
cd "$(dirname "$0")/../.."
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile

# `seen NAME RESULT TITLE ASKED [GETS [FUNCTION]]`: requests as ever, or such a share of GETs. With a function, that one times its own
# calls, and no scanner looks.
seen() {
    program=$(examples/profiling/patched.sh "$1" ${6:+"$6"} | tail -n 1)
    plain=$(examples/profiling/plain.sh "$1" | tail -n 1)
    version=${program#out/patched/"$1"-} result=$2${6:+-clock-alone}
    version=${version%%/*}
    title="$3 ${version%-clock}, $4${6:+, with --clock and --scanners=0}"
    # Options are words of their own.
    "$bench" recorded "$1" --program "$program" --plain "$plain" --title "$title" --folder "out/open/$result" ${6:+--with=--scanners=0} \
        --load "$share" ${5:+--gets "$5"} $options --pairs "$rounds" --seconds "$seconds" --out "results/open-$result.json"
}

seen memcached memcached-sets memcached SETs
seen memcached memcached-gets memcached GETs 100%
seen redis redis Redis GETs
seen memcached memcached-sets memcached SETs "" drive_machine
seen redis redis Redis GETs "" readQueryFromClient
