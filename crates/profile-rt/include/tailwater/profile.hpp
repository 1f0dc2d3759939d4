// Guards over tailwater/profile.h: a request's part ends with its scope, also by an exception.
#ifndef TAILWATER_PROFILE_HPP
#define TAILWATER_PROFILE_HPP

#include "tailwater/profile.h"
#include <cstdint>

namespace tailwater {

// This thread works for a request while the guard lives. Moves within the thread only.
class Request {
public:
    explicit Request(std::uint64_t request) noexcept : id(request), working(true) {
        tw_req_start(request);
    }
    // For a request taken from a queue that it entered at `enqueued` (tw_profile_now() then).
    Request(std::uint64_t request, std::uint64_t enqueued) noexcept : id(request), working(true) {
        tw_req_start_queued(request, enqueued);
    }
    // The same, with the queue's address.
    Request(std::uint64_t request, std::uint64_t enqueued, const void *queue) noexcept : id(request), working(true) {
        tw_req_start_dequeued(request, enqueued, queue);
    }
    Request(Request &&from) noexcept : id(from.id), working(from.working) { from.working = false; }
    Request(const Request &) = delete;
    Request &operator=(const Request &) = delete;
    Request &operator=(Request &&) = delete;
    ~Request() {
        if (working)
            tw_req_end(id);
    }

    // Hands the request over: this thread is through with it, another goes on.
    void block() noexcept {
        if (working)
            tw_req_block(id);
        working = false;
    }
    // The request as a whole is done.
    void finish() noexcept {
        if (working)
            tw_req_finish(id);
        working = false;
    }

private:
    std::uint64_t id;
    bool working;
};

// Whatever this thread works for ends with the scope: for loops that handle batches.
class Batch {
public:
    Batch() noexcept = default;
    Batch(const Batch &) = delete;
    Batch &operator=(const Batch &) = delete;
    ~Batch() { tw_req_end_all(); }
};

}  // namespace tailwater
#endif
