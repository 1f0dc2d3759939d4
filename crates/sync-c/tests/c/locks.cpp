// The C++ wrapper: guards, early returns, nested budgets. Exits 0 if all holds.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tailwater/sync.hpp"

#define CHECK(what)                                                             \
    do {                                                                        \
        if (!(what)) {                                                          \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)

using namespace std::chrono_literals;

static tailwater::Mutex slabs("slabs");

static bool handle(int &served) {
    tailwater::LockWithinBudget lock(slabs);
    if (!lock) return false;
    served++;
    if (served < 0) throw std::runtime_error("never");
    return true;
}

int main() {
    int served = 0, refused = 0;
    std::vector<std::thread> threads;
    std::mutex tally;
    for (int i = 0; i < 4; i++) threads.emplace_back([&] {
        for (int j = 0; j < 5000; j++) {
            tailwater::BudgetScope budget(10us);
            if (!handle(served)) {
                std::lock_guard<std::mutex> own(tally);
                refused++;
            }
        }
    });
    for (auto &thread : threads) thread.join();
    CHECK(served + refused == 20000 && served > 0);

    {
        std::lock_guard<tailwater::Mutex> held(slabs);
        std::thread([] {
            tailwater::BudgetScope outer(1h);
            {
                tailwater::BudgetScope inner(0ns);
                tailwater::LockWithinBudget lock(slabs);
                CHECK(!lock && lock.refused().left_ns == 0);
            }
            CHECK(*tailwater::BudgetScope::current() == 3600u * 1000000000ull);
        }).join();
        CHECK(!tailwater::BudgetScope::current());
    }

    tailwater::Condvar condvar;
    bool ready = false;
    std::thread other([&] {
        std::lock_guard<tailwater::Mutex> held(slabs);
        ready = true;
        condvar.notify_one();
    });
    {
        std::lock_guard<tailwater::Mutex> held(slabs);
        condvar.wait(slabs, [&] { return ready; });
    }
    other.join();
    std::lock_guard<tailwater::Mutex> held(slabs);
    tailwater::BudgetScope none(0ns);
    CHECK(!condvar.wait_within_budget(slabs, [] { return false; }));
    return 0;
}
