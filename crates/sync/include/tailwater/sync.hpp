// The C++ face of sync.h (C++17): what is locked is unlocked at the end of its scope.
#ifndef TAILWATER_SYNC_HPP
#define TAILWATER_SYNC_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "tailwater/sync.h"

namespace tailwater {

using nanoseconds = std::chrono::nanoseconds;

// A mutex. lock(), try_lock() and unlock() make it usable with std::lock_guard.
class Mutex {
public:
    explicit Mutex(const char *name = nullptr) : mutex_(tw_mutex_new(name)) {}
    ~Mutex() { tw_mutex_free(mutex_); }
    Mutex(const Mutex &) = delete;
    Mutex &operator=(const Mutex &) = delete;

    void lock() { tw_mutex_lock(mutex_); }
    bool try_lock() { return tw_mutex_trylock(mutex_) == TW_ACQUIRED; }
    void unlock() { tw_mutex_unlock(mutex_); }
    const tw_mutex *get() const { return mutex_; }

private:
    tw_mutex *mutex_;
};

// A mutex locked within the budget, or the reason why it is not. Test it before touching the data.
class [[nodiscard]] LockWithinBudget {
public:
    explicit LockWithinBudget(Mutex &mutex)
        : mutex_(tw_mutex_lock_within_budget(mutex.get(), &why_) == TW_ACQUIRED ? &mutex : nullptr) {}
    ~LockWithinBudget() {
        if (mutex_ != nullptr) mutex_->unlock();
    }
    LockWithinBudget(const LockWithinBudget &) = delete;
    LockWithinBudget &operator=(const LockWithinBudget &) = delete;

    explicit operator bool() const { return mutex_ != nullptr; }
    const tw_refused &refused() const { return why_; }

private:
    tw_refused why_{};
    Mutex *mutex_;
};

// A condition variable; the mutex is locked by the caller.
class Condvar {
public:
    explicit Condvar(const char *name = nullptr) : condvar_(tw_condvar_new(name)) {}
    ~Condvar() { tw_condvar_free(condvar_); }
    Condvar(const Condvar &) = delete;
    Condvar &operator=(const Condvar &) = delete;

    template <typename Condition> void wait(Mutex &mutex, Condition condition) {
        while (!condition()) tw_condvar_wait(condvar_, mutex.get());
    }
    // False if the budget does not allow for it; the mutex is locked in any case.
    template <typename Condition> bool wait_within_budget(Mutex &mutex, Condition condition) {
        while (!condition())
            if (tw_condvar_wait_within_budget(condvar_, mutex.get(), nullptr) != TW_ACQUIRED) return false;
        return true;
    }
    void notify_one() { tw_condvar_notify_one(condvar_); }
    void notify_all() { tw_condvar_notify_all(condvar_); }

private:
    tw_condvar *condvar_;
};

// Sets this thread's budget for a scope; then the former one, as far as it was left, is back.
class [[nodiscard]] BudgetScope {
public:
    explicit BudgetScope(nanoseconds left) : before_(current()) {
        tw_budget_set(left.count() > 0 ? static_cast<std::uint64_t>(left.count()) : 0);
    }
    ~BudgetScope() {
        if (before_) tw_budget_set(*before_);
        else tw_budget_clear();
    }
    BudgetScope(const BudgetScope &) = delete;
    BudgetScope &operator=(const BudgetScope &) = delete;

    // What is left in nanoseconds, if there is a budget.
    static std::optional<std::uint64_t> current() {
        std::uint64_t left = 0;
        return tw_budget_get(&left) ? std::optional<std::uint64_t>(left) : std::nullopt;
    }

private:
    std::optional<std::uint64_t> before_;
};

} // namespace tailwater

#endif
