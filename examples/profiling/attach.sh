#!/bin/sh
# Attached to memcached and Redis under load, and detached again: what the load gets through before, during and after,
# by turns with servers that nobody attaches to.
#
# Usage: examples/profiling/attach.sh [PAIRS [SECONDS]]      5 pairs, 10 s of each of the three, when not given
#
# Fetches the sources with apt and builds them unmodified, as memcached.sh and redis.sh do, and needs what these need.
# The servers start as ever: no recorder is in them. Writes results/attached-NAME.json; traces come to lie in out/attached.
set -eu
pairs=${1:-5} seconds=${2:-10}
cd "$(dirname "$0")/../.."
memcached=$(cargo xtask source memcached | tail -n 1)
redis=$(cargo xtask source redis | tail -n 1)
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile
[ -e "$memcached/Makefile" ] || (cd "$memcached" && tailwater profile build -- ./configure --quiet)
tailwater profile build -- make --silent -C "$memcached" CFLAGS='-O2 -g -pthread -Wno-error' memcached
tailwater profile build -- make --silent -C "$redis" MALLOC=libc redis-server

# `attached NAME PROGRAM TITLE`.
attached() {
    "$bench" attached "$1" --program "$2" --title "$3" --folder "out/attached/$1" --pairs "$pairs" --seconds "$seconds" \
        --out "results/attached-$1.json"
    tailwater profile report --limit 6 "out/attached/$1/attached.trace"
}

attached memcached "$memcached/memcached" "memcached ${memcached##*-}"
attached redis "$redis/src/redis-server" "Redis ${redis##*-}"
