#!/bin/sh
# memcached, as Debian has it, under the profiler: which functions make its slowest moments, and the
# locks behind them (the experiments of LDB's Figs. 7 and 8, NSDI 2024, on a small machine).
#
# Usage: examples/profiling/memcached.sh [SECONDS [gets]]      10 s of SETs when not given
#
# Fetches the sources with apt, builds them unmodified, records the server under a load of SET or GET requests,
# and reports. Needs `tailwater` on the PATH with its pass (make pass), and libevent-dev. What it fetched
# and built stays in out/source/memcached; delete that to begin anew.
set -eu
seconds=${1:-10} gets=${2:+--gets}
cd "$(dirname "$0")/../.."
echo '#include <event.h>' | cc -E -o /dev/null - 2>/dev/null ||
    { echo "memcached.sh: found no event.h; type: apt-get install libevent-dev" >&2; exit 1; }
sources=$(${TAILWATER_XTASK:-cargo xtask} source memcached | tail -n 1)
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile

[ -e "$sources/Makefile" ] || (cd "$sources" && tailwater profile build -- ./configure --quiet)
tailwater profile build -- make --silent -C "$sources" CFLAGS='-O2 -g -pthread -Wno-error' memcached

# Four workers and little memory: items are evicted all the time. -A: the load ends the server.
socket=out/source/memcached/socket trace=out/source/memcached/trace
rm -f "$socket"
tailwater profile record -o "$trace" -- "$sources/memcached" -u "$(id -un)" -t 4 -m 64 -A -s "$socket" &
$bench load --seconds "$seconds" $gets --shutdown "$socket" || { kill $!; exit 1; }
wait
tailwater profile report --locks --min-count 100 --limit 12 "$trace"
