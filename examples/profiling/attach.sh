#!/bin/sh
# Attached to memcached and Redis under load, and detached again: what the load gets through before, during and after,
# by turns with servers that nobody attaches to.
#
# Then either side is killed under load, at random times: whether the other goes on, and what can be read of the trace. Then recordings
# fill small disks, where these can be mounted: by root.
#
# Usage: examples/profiling/attach.sh [PAIRS [SECONDS [KILLS]]]      5 pairs, 10 s of each of the three, 100 kills of either side, when not given
#
# Fetches the sources with apt and builds them unmodified, as memcached.sh and redis.sh do, and needs what these need.
# The servers start as ever: no recorder is in them. Writes results/attached-NAME.json, results/killed-NAME.json and
# results/full-NAME.json; traces come to lie in out/attached.
set -eu
pairs=${1:-5} seconds=${2:-10} kills=${3:-100}
cd "$(dirname "$0")/../.."
memcached=$(cargo xtask source memcached | tail -n 1)
redis=$(cargo xtask source redis | tail -n 1)
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile
[ -e "$memcached/Makefile" ] || (cd "$memcached" && tailwater profile build -- ./configure --quiet)
# What was built before may be of another runtime, which is not attached to.
make --silent -C "$memcached" clean >/dev/null
make --silent -C "$redis" distclean >/dev/null
tailwater profile build -- make --silent -C "$memcached" CFLAGS='-O2 -g -pthread -Wno-error' memcached
tailwater profile build -- make --silent -C "$redis" MALLOC=libc redis-server

# `attached NAME PROGRAM TITLE`.
attached() {
    program=$2 title=$3
    set -- "$1" --program "$program" --title "$title" --folder "out/attached/$1"
    "$bench" attached "$@" --pairs "$pairs" --seconds "$seconds" --out "results/attached-$1.json"
    "$bench" killed "$@" --kills "$kills" --out "results/killed-$1.json"
    # In a container root may not, either.
    if unshare --mount true 2>/dev/null; then
        "$bench" full "$@" --out "results/full-$1.json"
    else
        echo "attach.sh: no disk can be mounted, and so none is filled; run it as root for that" >&2
    fi
    tailwater profile report --limit 6 "out/attached/$1/attached.trace"
}

attached memcached "$memcached/memcached" "memcached ${memcached##*-}"
attached redis "$redis/src/redis-server" "Redis ${redis##*-}"
