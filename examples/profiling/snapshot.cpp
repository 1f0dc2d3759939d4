// A service with a rare, slow request: the program of LDB's Fig. 1 (NSDI 2024), written anew.
//
// Requests insert into a map under a lock. Every 10 ms a background thread writes the whole map to a
// file under the same lock: the median request takes well under a microsecond, the slowest several
// milliseconds. An ordinary profile shows neither the wait nor the one who causes it.
//
//   tailwater profile build -- make -C examples/profiling snapshot

#include <tailwater/profile.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>

namespace {

constexpr int KeysInUse = 20000;
constexpr std::size_t ValueBytes = 64;

std::mutex store_lock;
std::map<int, std::string> store;

// Not inlined, here and below: what the compiler inlines counts towards its caller.
[[gnu::noinline]] void snapshot(const char *path) {
    std::ofstream out(path);
    std::lock_guard<std::mutex> guard(store_lock);
    for (const auto &[key, value] : store)
        out << key << ',' << value << std::endl; // A flush for each line: slow on purpose.
}

void take_snapshots(const char *path, const std::atomic<bool> &ends) {
    while (!ends) {
        snapshot(path);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

std::string random_value(std::minstd_rand &chance) {
    std::string value(ValueBytes, ' ');
    for (char &each : value)
        each = char('a' + chance() % 26);
    return value;
}

[[gnu::noinline]] void handle_request(int key, const std::string &value) {
    std::lock_guard<std::mutex> guard(store_lock);
    store[key] = value;
}

[[gnu::noinline]] void serve(long requests) {
    std::minstd_rand chance(1);
    for (long request = 1; request <= requests; request++) {
        std::string value = random_value(chance);
        tw_req_start(request);
        handle_request(int(chance() % KeysInUse), value);
        tw_req_end(request);
    }
}

} // namespace

// Usage: snapshot [REQUESTS] [FILE]
int main(int argc, char **argv) {
    long requests = argc > 1 ? std::atol(argv[1]) : 2000000;
    const char *path = argc > 2 ? argv[2] : "snapshot.txt";
    std::atomic<bool> ends = false;
    std::thread background(take_snapshots, path, std::cref(ends));
    serve(requests);
    ends = true;
    background.join();
    std::printf("%ld requests served\n", requests);
}
