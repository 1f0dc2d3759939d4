// JSON with nlohmann's library: a document is parsed, walked and written. Usage: json ROUNDS.
// Prints the answer and the thread's CPU time in ns, without that for making the document.
#include "clock.h"
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

using nlohmann::json;

static json document() {
    json list = json::array();
    for (int i = 0; i < 2000; i++)
        list.push_back({{"id", i},
                        {"name", "user " + std::to_string(i * 7919 % 1000)},
                        {"score", i * 0.25},
                        {"active", i % 3 == 0},
                        {"tags", {"a" + std::to_string(i % 17), "tail", nullptr}},
                        {"place", {{"x", i % 101}, {"y", -i}}}});
    return list;
}

static uint64_t walk(const json &node, uint64_t hash) {
    if (node.is_structured()) {
        for (const json &each : node)
            hash = walk(each, hash);
        return mix(hash, node.size());
    }
    if (node.is_string())
        return mix(hash, node.get_ref<const std::string &>().size());
    return node.is_number() ? mix(hash, uint64_t(node.get<double>() * 4)) : hash;
}

int main(int argc, char **argv) {
    const std::string text = document().dump();
    uint64_t hash = 1469598103934665603u, start = cpu_ns();
    for (int round = argc > 1 ? std::atoi(argv[1]) : 1; round > 0; round--) {
        json parsed = json::parse(text);
        hash = walk(parsed, hash);
        hash = mix(hash, parsed.dump().size());
    }
    std::printf("%016lx %lu\n", hash, cpu_ns() - start);
}
