#!/bin/sh
# A program to tune: it counts made-up words with many small allocations and prints the CPU time that this took. It is
# here so that `tailwater tune` can be tried without a service. The first argument is the block's seed.
exec awk -v seed="${1:-1}" 'BEGIN {
    srand(seed)
    for (i = 0; i < 150000; i++) {
        word = "word" int(rand() * 20000)
        places[word] = places[word] " " i
    }
    # Time on the CPU in ns, of this process.
    getline times < "/proc/self/schedstat"
    split(times, on_cpu, " ")
    printf "{\"cpu_ms\": %.3f}\n", on_cpu[1] / 1e6
}'
