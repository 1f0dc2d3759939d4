#!/bin/sh
# A server under an open load, recorded for long with its slowest requests kept (`attach --keep p99.9`): what that takes of
# disk and memory, and whether a request above the percentile is missing. The server's own clock tells which these are.
#
# Usage: examples/profiling/kept.sh [SECONDS [RATE [NAME]]]      60 s of 20000 requests/s to memcached when not given
#
# An hour is `kept.sh 3600`. NAME is memcached or redis, which patched.sh builds. Writes results/kept-NAME.json. Needs
# `tailwater` on the PATH with its pass (make pass). The trace comes to lie in out/kept.
set -eu
seconds=${1:-60} rate=${2:-20000} name=${3:-memcached}
cd "$(dirname "$0")/../.."
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile
program=$(examples/profiling/patched.sh "$name" | tail -n 1)
version=${program#out/patched/"$name"-}
"$bench" kept "$name" --program "$program" --title "$name ${version%%/*}" --folder "out/kept/$name" --seconds "$seconds" \
    --rate "$rate" --out "results/kept-$name.json"
