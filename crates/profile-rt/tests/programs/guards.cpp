// Requests by guards: tests/tests/profile_record.rs knows the marks that these leave.
#include <stdexcept>
#include <tailwater/profile.hpp>
#include <utility>

int main() {
    {
        tailwater::Request first(1);
        tailwater::Request moved(std::move(first));
    }
    try {
        tailwater::Request thrown(2, tw_profile_now());
        throw std::runtime_error("ends the request");
    } catch (const std::exception &) {
    }
    {
        tailwater::Request blocked(3);
        blocked.block();
    }
    {
        tailwater::Batch batch;
        tw_req_start(4);
        tw_req_start(5);
    }
    tailwater::Request(6).finish();
}
