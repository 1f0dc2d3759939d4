#!/bin/sh
# ripgrep, from crates.io, under the profiler: which of its functions takes long, and how often.
#
# Usage: examples/profiling/ripgrep.sh [FOLDER [PATTERN]]      this repository and `latency`, when not given
#
# Builds a pinned release unmodified, with a stable rustc, and records one search. Needs `tailwater` on
# the PATH with its pass (make pass). What it built stays in out/ripgrep; delete that to begin anew.
set -eu
cd "$(dirname "$0")/../.."
folder=${1:-.} pattern=${2:-latency} version=15.2.0
tailwater profile build -- cargo install --quiet --locked --root out/ripgrep ripgrep --version "$version"

# One thread: the scanner wants a core to itself.
tailwater profile record -o out/ripgrep/trace -- \
    out/ripgrep/bin/rg --no-ignore --hidden --threads 1 --count-matches "$pattern" "$folder" |
    awk -F: '{ found += $NF } END { print found " matches in " NR " files" }'
tailwater profile report --limit 12 out/ripgrep/trace
