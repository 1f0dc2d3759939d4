/* cancelled LIBRARY: threads that open and close the library (of plugin.c) for ever, each cancelled in
 * the middle of that. A thread that ends inside of dlclose keeps the dynamic linker's lock. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *path;

static void use(void) {
    void *library = dlopen(path, RTLD_NOW);
    void (**work)(pthread_mutex_t *, long) = library ? dlsym(library, "plugin") : NULL;
    if (!work) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    (*work)(NULL, 100);
    dlclose(library);
}

static void *uses_for_ever(void *unused) {
    for (;;) {
        use();
        pthread_testcancel();
    }
    return unused;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    path = argv[1];
    /* A program that hangs fails. */
    alarm(60);
    int cancelled = 0;
    for (int round = 0; round < 5; round++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, uses_for_ever, NULL);
        nanosleep(&(struct timespec){0, 50000000}, NULL);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    use();
    printf("%d cancelled\n", cancelled);
    return 0;
}
