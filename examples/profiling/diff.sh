#!/bin/sh
# What `tailwater profile diff` names between two builds of SQLite, one of which takes 5 % longer in each call of the function
# that compiles a statement, and what it names between recordings of one build. For each pair either build is recorded often,
# by turns, since processes of one build differ.
#
# Usage: examples/profiling/diff.sh [IDENTICAL [PLANTED [SECONDS [RECORDINGS]]]]      20 and 5 pairs, each process half a second, either
# build 20 times for each pair, when not given
#
# Writes results/profile-diff.json. Needs `tailwater` on the PATH with its pass (make pass). What it built, and the last pair's
# traces, lie in out/diff.
set -eu
identical=${1:-20} planted=${2:-5} seconds=${3:-0.5} recordings=${4:-20}
cd "$(dirname "$0")/../.."
command -v patch >/dev/null || { echo "diff.sh: found no patch; type: apt-get install patch" >&2; exit 1; }
# With tailwater, so that what both stand on is compiled once.
cargo build --quiet --release --locked --package tailwater-cli --package profile
bench=${CARGO_TARGET_DIR:-target}/release/profile
folder=out/diff
mkdir -p "$folder"
# The crate's single file.
cp "$("$bench" sqlite)"/sqlite3.[ch] benches/profile/programs/queries.c benches/profile/programs/slower.h "$folder"
patch --quiet --strip 0 --directory "$folder" <examples/profiling/patches/sqlite.patch

# `build NAME FLAGS`. Functions begin at cache lines in both, or the longer one would shift all that come after it: what was not
# changed would run another way, too.
build() {
    (cd "$folder" && tailwater profile build -- \
        sh -c "\$CC -O2 -falign-functions=64 -include slower.h $2 -o $1 queries.c sqlite3.c -lpthread -ldl -lm")
}
build queries ''
build slower -DSLOWER_PERCENT=5
version=$(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)"/\1/p' "$folder/sqlite3.h")
"$bench" compared --program "$folder/queries" --slower "$folder/slower" --function sqlite3LockAndPrepare --percent 5 \
    --title "SQLite $version" --folder "$folder" --identical "$identical" --planted "$planted" --seconds "$seconds" \
    --recordings "$recordings" --out results/profile-diff.json
