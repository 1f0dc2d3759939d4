/* A ready set across processes through the C interface: producers that are killed. Exits 0 if all holds. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tailwater/ready.h"

#define CHECK(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

enum { QUEUES = 100, KILLS = 20, ITEMS = 2000 };

/* What the producer has pushed, and announced by a ring that returned; what the consumer has visited. */
static struct {
    atomic_uint pushed[QUEUES], announced[QUEUES], visited[QUEUES];
} *table;

static void produce(int fd) {
    tw_shared_ready *set = tw_shared_ready_open(fd, QUEUES, NULL);
    CHECK(set != NULL);
    /* For what a dead producer pushed and did not announce. */
    for (uint32_t queue = 0; queue < QUEUES; queue++) {
        unsigned pushed = atomic_load(&table->pushed[queue]);
        tw_shared_ready_ring(set, queue);
        atomic_store(&table->announced[queue], pushed);
    }
    for (uint32_t i = 0;; i++) {
        uint32_t queue = i * 7 % QUEUES;
        unsigned pushed = atomic_fetch_add_explicit(&table->pushed[queue], 1, memory_order_relaxed) + 1;
        tw_shared_ready_ring(set, queue);
        atomic_store(&table->announced[queue], pushed);
    }
}

static unsigned visit(uint32_t queue) {
    unsigned pushed = atomic_load_explicit(&table->pushed[queue], memory_order_relaxed);
    return pushed - atomic_exchange(&table->visited[queue], pushed);
}

static void producers_may_be_killed(void) {
    int error = 0;
    tw_shared_ready *set = tw_shared_ready_create(QUEUES, &error);
    CHECK(set != NULL && error == 0);
    int fd = tw_shared_ready_fd(set);
    table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(table != MAP_FAILED);
    CHECK(tw_shared_ready_consume(set, TW_READY_ROUND_ROBIN, NULL, 0, 0) == 0);
    for (int kill_ = 0; kill_ < KILLS; kill_++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            produce(fd);
        }
        for (unsigned items = 0; items < ITEMS;) {
            items += visit(tw_shared_ready_wait(set, UINT64_MAX));
        }
        CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    }
    for (uint32_t queue; (queue = tw_shared_ready_wait(set, 1000)) != TW_READY_NONE;) {
        visit(queue);
    }
    for (int queue = 0; queue < QUEUES; queue++) {
        CHECK(table->visited[queue] >= table->announced[queue]);
    }
    tw_shared_ready_free(set);
}

static void errors_have_a_number(void) {
    int error = 0;
    CHECK(tw_shared_ready_create(0, &error) == NULL && error == EINVAL);
    CHECK(tw_shared_ready_open(-1, 0, &error) == NULL && error == EBADF);
    int plain = memfd_create("plain", MFD_ALLOW_SEALING);
    CHECK(tw_shared_ready_open(plain, 0, &error) == NULL && error == EBADMSG);
    close(plain);
    tw_shared_ready *one = tw_shared_ready_create(2, NULL);
    tw_shared_ready *two = tw_shared_ready_open(tw_shared_ready_fd(one), 0, NULL);
    CHECK(tw_shared_ready_queues(one) == 2 && tw_shared_ready_queues(two) == 2);
    const uint32_t zero[] = {1, 0};
    CHECK(tw_shared_ready_consume(one, TW_READY_WEIGHTED, zero, 2, 0) == -EINVAL);
    CHECK(tw_shared_ready_consume(one, TW_READY_STRICT, NULL, 0, 0) == 0);
    CHECK(tw_shared_ready_consume(two, TW_READY_STRICT, NULL, 0, 0) == -EBUSY);
    CHECK(tw_shared_ready_ring(two, 2) == -EINVAL && tw_shared_ready_ring(two, UINT32_MAX) == -EINVAL);
    CHECK(tw_shared_ready_take(one) == 0 && tw_shared_ready_take(one) == 1);
    CHECK(tw_shared_ready_ring(two, 1) == 0);
    CHECK(tw_shared_ready_take(one) == 1);
    tw_shared_ready_charge(one, 1, 1);
    tw_shared_ready_again(one, 1);
    tw_shared_ready_free(one);
    /* What the first had taken is the next one's. */
    CHECK(tw_shared_ready_consume(two, TW_READY_STRICT, NULL, 0, 0) == 0);
    CHECK(tw_shared_ready_take(two) == 0 && tw_shared_ready_take(two) == 1);
    CHECK(tw_shared_ready_take(two) == TW_READY_NONE);
    tw_shared_ready_free(two);
    tw_shared_ready_free(NULL);
}

/* The set's maker chose the number of queues. Shares lie before a page that cannot be read: one too many is a crash. */
static void no_share_is_read_that_the_caller_does_not_have(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    uint32_t *shares = (uint32_t *)(void *)(pages + page) - 3;
    shares[0] = shares[1] = shares[2] = 1;
    int error = 0;
    tw_shared_ready *peer = tw_shared_ready_create(200000, NULL);
    int fd = tw_shared_ready_fd(peer);
    CHECK(tw_shared_ready_open(fd, 3, &error) == NULL && error == EBADMSG);
    tw_shared_ready *set = tw_shared_ready_open(fd, 200000, NULL);
    CHECK(set != NULL && tw_shared_ready_queues(set) == 200000);
    CHECK(tw_shared_ready_consume(set, TW_READY_WEIGHTED, shares, 3, 0) == -EINVAL);
    CHECK(tw_shared_ready_consume(set, TW_READY_DEFICIT, shares, 3, 0) == -EINVAL);
    CHECK(tw_shared_ready_consume(set, TW_READY_DEFICIT, NULL, 200000, 0) == -EINVAL);
    CHECK(tw_shared_ready_consume(set, TW_READY_AGED, shares, 3, 0) == -EINVAL);
    CHECK(tw_shared_ready_consume(set, TW_READY_ROUND_ROBIN, shares, 3, 0) == -EINVAL);
    CHECK(tw_shared_ready_consume(set, 5, shares, 0, 0) == -EINVAL);
    CHECK(tw_shared_ready_consume(set, TW_READY_AGED, shares + 2, 1, 0) == 0);
    tw_shared_ready_free(set);
    tw_shared_ready_free(peer);
    tw_shared_ready *small = tw_shared_ready_create(3, NULL);
    CHECK(tw_shared_ready_consume(small, TW_READY_WEIGHTED, shares, 3, 0) == 0);
    tw_shared_ready_free(small);
    CHECK(munmap(pages, 2 * page) == 0);
}

int main(void) {
    /* Where it hangs, it ends. */
    alarm(100);
    errors_have_a_number();
    no_share_is_read_that_the_caller_does_not_have();
    producers_may_be_killed();
    return 0;
}
