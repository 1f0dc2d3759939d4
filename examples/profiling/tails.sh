#!/bin/sh
# The tail of memcached under SETs and under GETs, as in LDB's Figs. 7 and 8 (NSDI 2024): what the report says is kept, for
# docs/figures-ldb.md.
#
# Usage: examples/profiling/tails.sh [SECONDS]      10 s of each when not given
#
# Records by memcached.sh, and writes results/tails-memcached-sets.json and results/tails-memcached-gets.json, whose blocks a page
# draws as `guide-said-1` and `guide-said-2`. Needs `tailwater` on the PATH with its pass (make pass), and libevent-dev.
set -eu
seconds=${1:-10}
cd "$(dirname "$0")/../.."
bench=${CARGO_TARGET_DIR:-target}/release/profile
for load in sets gets; do
    # Its second word, whichever, asks for GETs.
    case $load in gets) examples/profiling/memcached.sh "$seconds" gets ;; *) examples/profiling/memcached.sh "$seconds" ;; esac
    sources=$(cargo xtask source memcached | tail -n 1)
    "$bench" tails --program "$sources/memcached" --title "memcached ${sources##*-}" --folder out/source/memcached \
        --seconds "$seconds" --out "results/tails-memcached-$load.json"
done
