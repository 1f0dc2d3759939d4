#!/bin/sh
# Attached to memcached and Redis under load, and detached again: what the load gets through before, during and after.
#
# Usage: examples/profiling/attach.sh [SECONDS]      10 when not given, of each of the three
#
# Fetches the sources with apt and builds them unmodified, as memcached.sh and redis.sh do, and needs what these need.
# The servers start as ever: no recorder is in them. Traces come to lie in out/source.
set -eu
seconds=${1:-10}
cd "$(dirname "$0")/../.."
memcached=$(cargo xtask source memcached | tail -n 1)
redis=$(cargo xtask source redis | tail -n 1)
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile
[ -e "$memcached/Makefile" ] || (cd "$memcached" && tailwater profile build -- ./configure --quiet)
tailwater profile build -- make --silent -C "$memcached" CFLAGS='-O2 -g -pthread -Wno-error' memcached
tailwater profile build -- make --silent -C "$redis" MALLOC=libc redis-server redis-benchmark redis-cli

socket=$PWD/out/source/attach.socket

# The load's own words, three times: `attached NAME PID LOAD…`.
attached() {
    name=$1 pid=$2
    shift 2
    echo "$name, before: $("$@")"
    tailwater profile attach "$pid" -o "out/source/$name.trace" 2>"out/source/$name.said" &
    recorder=$!
    until grep -q Recording "out/source/$name.said"; do kill -0 "$recorder"; sleep 0.1; done
    echo "$name, during: $("$@")"
    kill -INT "$recorder"
    wait "$recorder"
    echo "$name, after: $("$@")"
    cat "out/source/$name.said"
    tailwater profile report --limit 6 "out/source/$name.trace"
}

until_there() { until [ -S "$socket" ]; do kill -0 "$1"; sleep 0.1; done; }

rm -f "$socket"
"$memcached/memcached" -u "$(id -un)" -t 4 -m 64 -s "$socket" &
server=$!
until_there "$server"
attached memcached "$server" $bench load --seconds "$seconds" "$socket"
kill "$server"
wait "$server" || :

rm -f "$socket"
"$redis/src/redis-server" --port 0 --unixsocket "$socket" --save '' --daemonize no --loglevel warning &
server=$!
until_there "$server"
# More than it can do in the time.
asked() {
    timeout "$seconds" "$redis/src/redis-benchmark" -s "$socket" -q -n 1000000000 -P 16 -r 100000 -t set |
        tr '\r' '\n' | grep overall | tail -n 1
}
attached redis "$server" asked
"$redis/src/redis-cli" -s "$socket" shutdown nosave
wait "$server" || :
