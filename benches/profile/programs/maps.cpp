// Containers of the standard library. Usage: maps tree|hash ROUNDS. `tree`: std::map with strings as
// keys; `hash`: std::unordered_map of integers, then sorting what is in it.
// Prints the answer and the thread's CPU time in ns.
#include "clock.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

static uint64_t tree(uint64_t hash, std::minstd_rand &chance) {
    std::map<std::string, uint64_t> words;
    for (int i = 0; i < 50000; i++)
        words["word number " + std::to_string(chance() % 20000)] += i;
    for (int i = 0; i < 50000; i++)
        if (auto found = words.find("word number " + std::to_string(chance() % 40000));
            found != words.end())
            hash = mix(hash, found->second);
    return mix(hash, words.size());
}

static uint64_t hashed(uint64_t hash, std::minstd_rand &chance) {
    std::unordered_map<uint64_t, uint64_t> counts;
    for (int i = 0; i < 200000; i++)
        counts[chance() % 50000]++;
    std::vector<std::pair<uint64_t, uint64_t>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto &left, const auto &right) {
        return left.second != right.second ? left.second > right.second : left.first < right.first;
    });
    for (size_t i = 0; i < sorted.size(); i += 1000)
        hash = mix(hash, sorted[i].first);
    return hash;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return std::fprintf(stderr, "maps tree|hash ROUNDS\n"), 2;
    auto *work = argv[1][0] == 't' ? tree : hashed;
    std::minstd_rand chance(1);
    uint64_t hash = 1469598103934665603u, start = cpu_ns();
    for (int round = std::atoi(argv[2]); round > 0; round--)
        hash = work(hash, chance);
    std::printf("%016lx %lu\n", hash, cpu_ns() - start);
}
