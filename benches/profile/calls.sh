#!/bin/sh
# Usage: benches/profile/calls.sh [--short]   What the pass costs per call. Needs clang-22 and lld-22.
# The loops of calls.c are compiled without the pass and with it, linked into one program with the
# tests' runtime, and run by turns on one core.
set -eu
cd "$(dirname "$0")/../.."
# The last line that it prints is the folder of the plugin.
home=$(cargo xtask pass --plugin | tail -n 1)
here=benches/profile out="$home/bench"
mkdir -p "$out"
clang-22 -O2 -DVARIANT=_plain -c $here/calls.c -o "$out/plain.o"
clang-22 -O2 -DVARIANT=_pass "-fpass-plugin=$home/libtailwater_profile_pass.so" -c $here/calls.c -o "$out/pass.o"
clang-22 -O2 -Icrates/profile-rt/include -c profile-pass/tests/runtime.c -o "$out/runtime.o"
clang-22 -O2 --ld-path=ld.lld-22 $here/main.c "$out/plain.o" "$out/pass.o" "$out/runtime.o" -o "$out/calls"
taskset --cpu-list "$(($(nproc) - 1))" "$out/calls" "$@"
