/* Loaded before a program: another thread of it that only sleeps. The C library's locks are dearer from then on. */
#include <pthread.h>
#include <unistd.h>

static void *sleeps(void *unused) {
    for (;;)
        pause();
    return unused;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleeps, NULL))
        _exit(70);
}
