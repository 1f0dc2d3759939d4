#!/bin/sh
# What `tailwater profile diff` finds between two builds of which one is 5 % slower in one function, and what it claims of
# identical ones.
#
# Usage: examples/profiling/diff.sh [IDENTICAL [PLANTED [SECONDS]]]      20 and 5 pairs of recordings of 4 s when not given
#
# Writes results/profile-diff.json. Needs `tailwater` on the PATH with its pass (make pass).
set -eu
identical=${1:-20} planted=${2:-5} seconds=${3:-4}
cd "$(dirname "$0")/../.."
folder=out/diff
mkdir -p "$folder"
build() { tailwater profile build -- sh -c "\$CC -O2 $2 -o $folder/$1 examples/profiling/stages.c"; }
build plain ''
build slower -DSLOWER

record() { tailwater profile record -o "$folder/$2" -- "$folder/$1" "$seconds" >"$folder/said"; }
# Functions that differ, of the JSON of one comparison; the exit code says whether any does.
compared() {
    record plain a.trace
    record "$1" b.trace
    tailwater profile diff --json "$folder/a.trace" "$folder/b.trace" >"$folder/diff.json" || [ $? = 1 ]
    cat "$folder/diff.json"
}
pairs() {
    number=0
    while [ "$number" -lt "$2" ]; do
        [ "$number" = 0 ] || echo ,
        compared "$1"
        number=$((number + 1))
        echo "$1, $number of $2" >&2
    done
}
{
    printf '{"seconds": %s, "identical": [\n' "$seconds"
    pairs plain "$identical"
    printf '], "planted": [\n'
    pairs slower "$planted"
    printf ']}\n'
} >"$folder/result.json"
mv "$folder/result.json" results/profile-diff.json
