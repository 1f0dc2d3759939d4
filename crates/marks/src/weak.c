/* The runtime's functions (tailwater/profile.h), where a program holds them: `tailwater profile build` links the
 * runtime. Elsewhere the weak references are null, and a mark is a test and a return. */
#include <stdint.h>

extern void tw_req_start(uint64_t request) __attribute__((weak));
extern void tw_req_start_waited(uint64_t request, uint64_t waited_ns) __attribute__((weak));
extern void tw_req_block(uint64_t request) __attribute__((weak));
extern void tw_req_finish(uint64_t request) __attribute__((weak));
extern void tw_req_called(uint64_t request, uint64_t call) __attribute__((weak));
extern void tw_req_sent(uint64_t request, uint64_t call) __attribute__((weak));
extern void tw_req_answered(uint64_t request, uint64_t call) __attribute__((weak));
extern void tw_size(uint64_t bytes) __attribute__((weak));

int tailwater_marks_are_read(void) {
    return tw_req_start && tw_req_start_waited && tw_req_block && tw_req_finish;
}

void tailwater_marks_start(uint64_t request) {
    if (tw_req_start)
        tw_req_start(request);
}

void tailwater_marks_start_waited(uint64_t request, uint64_t waited_ns) {
    if (tw_req_start_waited)
        tw_req_start_waited(request, waited_ns);
}

void tailwater_marks_block(uint64_t request) {
    if (tw_req_block)
        tw_req_block(request);
}

void tailwater_marks_finish(uint64_t request) {
    if (tw_req_finish)
        tw_req_finish(request);
}

void tailwater_marks_called(uint64_t request, uint64_t call) {
    if (tw_req_called)
        tw_req_called(request, call);
}

void tailwater_marks_sent(uint64_t request, uint64_t call) {
    if (tw_req_sent)
        tw_req_sent(request, call);
}

void tailwater_marks_answered(uint64_t request, uint64_t call) {
    if (tw_req_answered)
        tw_req_answered(request, call);
}

void tailwater_marks_size(uint64_t bytes) {
    if (tw_size)
        tw_size(bytes);
}
