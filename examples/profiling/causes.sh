#!/bin/sh
# Requests that are slow for a planted cause, and how many of the slowest `tailwater profile requests` blames on it by itself: a
# storm of timer interrupts, a flood of packets, first touches of memory, neighbours that want the core, neighbours of the thread
# that holds a lock, and a lock made of a futex. Where nothing is planted, how many are blamed on anything.
#
# Usage: examples/profiling/causes.sh [ROUNDS]      3 rounds when not given, a minute or so
#
# Needs root and tracepoints, two cores that are idle, and `tailwater` on the PATH with its pass (make pass). Prints the table and
# writes results/profile-causes.json. Traces come to lie in out/causes.
set -eu
rounds=${1:-3}
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "causes.sh: only root may run threads before all others" >&2; exit 1; }
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile
folder=out/causes
mkdir -p "$folder"
tailwater profile build -- sh -c "\$CC -O2 -Wall -o $folder/program crates/profile-rt/tests/programs/causes.c -pthread"
# Neighbours have a name of their own.
cp "$folder/program" "$folder/hog"
"$bench" caused --program "$folder/program" --neighbour "$folder/hog" --title "planted causes" --folder "$folder" \
    --rounds "$rounds" --out results/profile-causes.json
