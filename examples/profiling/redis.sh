#!/bin/sh
# Redis, as Debian has it, under the profiler: what a query that walks a whole list does to the others.
#
# Usage: examples/profiling/redis.sh [REQUESTS]      200000 when not given
#
# Fetches the sources with apt, builds them unmodified, and records the server while Redis's own
# benchmark writes, reads and asks for ranges. Needs `tailwater` on the PATH with its pass (make pass).
# What it fetched and built stays in out/source/redis; delete that to begin anew.
set -eu
requests=${1:-200000}
cd "$(dirname "$0")/../.."
sources=$(cargo xtask source redis | tail -n 1)
tailwater profile build -- make --silent -C "$sources" MALLOC=libc redis-server redis-benchmark redis-cli

socket=$PWD/out/source/redis/socket trace=out/source/redis/trace
rm -f "$socket"
tailwater profile record -o "$trace" -- "$sources/src/redis-server" --port 0 --unixsocket "$socket" \
    --save '' --daemonize no --loglevel warning &
until [ -S "$socket" ]; do kill -0 $!; sleep 0.1; done
"$sources/src/redis-benchmark" -s "$socket" --csv -n "$requests" -P 16 -r 100000 -t set,get,lrange_600
"$sources/src/redis-cli" -s "$socket" shutdown nosave
wait
tailwater profile report --limit 8 "$trace"
tailwater profile report --function '*Command' "$trace"
