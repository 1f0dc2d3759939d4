#!/bin/sh
# Usage: benches/profile/granularity.sh [--short]   What the scanner finds, and what finding it costs.
# refresh.c builds twenty frames every 1, 10 and 100 us, unscanned and under budgets of 5, 20 and 100 %
# by turns. For each: invocations found, the median round's extra time over the unscanned one's, rounds
# in the same time (app speed), how long the scanner was away, and bytes of trace to a call; the medians
# of the repetitions. Needs clang-22, lld-22, python3, and two cores with nothing else to do: where the
# scanner was away for long, the line says nothing about it. TAILWATER_RUN may hold a prefix to run under, such as
# "nice -n -15" on a machine that is not quiet.
set -eu
cd "$(dirname "$0")/../.."
cargo build --quiet --release --locked --package tailwater-cli
home=$(cargo xtask pass | tail -n 1)
export TAILWATER_PROFILE_HOME="$home" PATH="$home/../release:$PATH"
mkdir -p "$home/bench"
tailwater profile build -- sh -c "\$CC -O2 -o $home/bench/refresh benches/profile/refresh.c"
exec python3 - "$home/bench" "$@" <<'DRIVER'
import json, os, statistics, subprocess, sys

folder, is_short = sys.argv[1], "--short" in sys.argv[2:]
run_under = os.environ.get("TAILWATER_RUN", "").split()
program, trace = folder + "/refresh", folder + "/refresh.trace"
DEPTH, BUDGETS = 20, ["5%", "20%", "100%"]
repetitions, ms = (1, "100") if is_short else (9, "200")

def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout

def plain(us):
    rounds, ns = output(*run_under, program, us, ms).split()
    return int(rounds), float(ns)

def scanned(us, budget):
    line = output(*run_under, "tailwater", "profile", "record", "--budget", budget, "-o", trace, "--", program, us, ms)
    rounds, ns = line.split()
    report = json.loads(output("tailwater", "profile", "report", "--json", "--function", "frames", trace))
    calls = sum(row["count"] + row["gap"] + row["partial"] for row in report["functions"])
    away = report["quality"]["gap_ns"] / 1e6 / float(ms)
    return calls / (int(rounds) * DEPTH), int(rounds), float(ns), away, os.path.getsize(trace) / max(calls, 1)

print("    P  budget  found %  extra ns/round  app speed  away %  bytes/call")
for us in ["1", "10", "100"]:
    bases, rows = [], {budget: [] for budget in BUDGETS}
    for _ in range(repetitions):
        bases.append(plain(us))
        for budget in BUDGETS:
            rows[budget].append(scanned(us, budget))
    base_rounds, base = map(statistics.median, zip(*bases))
    for budget in BUDGETS:
        found, rounds, ns, away, size = map(statistics.median, zip(*rows[budget]))
        print(f"{us:>5} {budget:>7} {100 * found:8.1f} {ns - base:15.0f} {rounds / base_rounds:10.3f} {100 * away:7.1f} {size:11.1f}")
DRIVER
