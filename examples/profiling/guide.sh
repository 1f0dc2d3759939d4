#!/bin/sh
# The guide's experiments (docs/profiling-guide.md): a program that is not ours, its symptom, what the profiler says, and
# p99 once the cause is gone, in runs of before, after, after, before.
#
# Usage: examples/profiling/guide.sh redis|memcached|sqlite [QUADS [SECONDS]]      3 quads of runs of 5 s when not given
#
# Fetches the sources, builds them unmodified, and writes results/guide-NAME.json, of which the page is drawn:
# TAILWATER_PAGES=write cargo test -p tailwater-cli --test pages. Needs `tailwater` on the PATH with its pass (make pass),
# and for memcached libevent-dev. What it made stays in out/source and out/guide.
set -eu
name=${1:?"say redis, memcached or sqlite"} quads=${2:-3} seconds=${3:-5}
cd "$(dirname "$0")/../.."
folder=out/guide/$name
mkdir -p "$folder"
bench="env CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target} cargo run --quiet --release --locked --manifest-path benches/profile/Cargo.toml --"

# From here, as the report then shows it.
source_of() {
    folder_of_it=$(cargo xtask source "$1" | tail -n 1)
    echo "${folder_of_it#"$PWD"/}"
}

case $name in
redis)
    sources=$(source_of redis)
    tailwater profile build -- make --silent -C "$sources" MALLOC=libc redis-server
    program=$sources/src/redis-server title="Redis ${sources##*-}"
    ;;
memcached)
    echo '#include <event.h>' | cc -E -o /dev/null - 2>/dev/null ||
        { echo "guide.sh: found no event.h; type: apt-get install libevent-dev" >&2; exit 1; }
    sources=$(source_of memcached)
    [ -e "$sources/Makefile" ] || (cd "$sources" && tailwater profile build -- ./configure --quiet)
    tailwater profile build -- make --silent -C "$sources" CFLAGS='-O2 -g -pthread -Wno-error' memcached
    program=$sources/memcached title="memcached ${sources##*-}"
    ;;
sqlite)
    # The crate's single file, copied so that lines are told by its name alone.
    cp "$($bench sqlite)"/sqlite3.[ch] benches/profile/programs/commits.c "$folder"
    (cd "$folder" && tailwater profile build -- sh -c '$CC -O2 -o commits commits.c sqlite3.c -lpthread -ldl -lm')
    program=$folder/commits
    title="SQLite $(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)"/\1/p' "$folder/sqlite3.h")"
    ;;
*)
    echo "guide.sh: found $name; say redis, memcached or sqlite" >&2
    exit 2
    ;;
esac
$bench guide "$name" --program "$program" --title "$title" --folder "$folder" --quads "$quads" --seconds "$seconds" \
    --out "results/guide-$name.json"
