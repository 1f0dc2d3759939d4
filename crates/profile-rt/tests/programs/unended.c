/* unended MS: a thread works in a library until the program exits. With LIBRARY: that library. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#ifdef LIBRARY
static volatile unsigned sink;

__attribute__((noinline)) static void works_for_ever(void) {
    for (;;) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        sink++;
    }
}

static void *worker(void *unused) {
    works_for_ever();
    sink++;
    return unused;
}

void begin(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
}
#else
void begin(void);

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    begin();
    long ms = atol(argv[1]);
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    return 0;
}
#endif
