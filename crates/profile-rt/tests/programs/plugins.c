/* Opens two libraries in turn, of which the second comes to lie where the first was, and works in them.
 * Prints for each time which it was, where it lay, and when. Built with the pass and without. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tailwater/profile.h>
#include <time.h>

typedef void (*plugin)(pthread_mutex_t *, long);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *open_it(const char *path, plugin **work) {
    void *library = dlopen(path, RTLD_NOW);
    *work = library ? (plugin *)dlsym(library, "plugin") : NULL;
    if (!*work) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

/* Works in a library and closes it, with the lock taken in it where there is one. */
static void once(int which, const char *path, pthread_mutex_t *lock, long us) {
    uint64_t start = tw_profile_now();
    plugin *work;
    void *library = open_it(path, &work);
    (*work)(lock, us);
    printf("%d %p %lu ", which, (void *)*work, start);
    dlclose(library);
    printf("%lu\n", tw_profile_now());
}

static void pause_ms(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }

static void *holds_then_waits(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&both);
    pause_ms(20);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* plugins ROUNDS US FIRST SECOND */
int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    long us = atol(argv[2]);
    for (int round = 0; round < atoi(argv[1]); round++)
        for (int which = 1; which <= 2; which++)
            once(which, argv[2 + which], NULL, us);
    /* The first library waits for a lock and takes it; it is gone when the lock is let go, and when
     * another thread has waited for that. */
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&other, NULL, holds_then_waits, NULL);
    pthread_barrier_wait(&both);
    once(1, argv[3], &mutex, us);
    pthread_barrier_wait(&both);
    once(2, argv[4], NULL, us);
    pause_ms(20);
    pthread_mutex_unlock(&mutex);
    pthread_join(other, NULL);
    return 0;
}
