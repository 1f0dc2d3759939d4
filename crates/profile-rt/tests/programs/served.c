/* A program that runs until its input ends, and is attached to meanwhile. Each line that it reads is a command, and is
 * answered by a line. Built by tailwater-cc; the tests in tests/tests/profile_attach.rs read the traces. */
#define _GNU_SOURCE
#include <tailwater/profile.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static volatile uint64_t sink;
static uint64_t rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

APART static void step(unsigned n) {
    for (unsigned i = 0; i < n; i++)
        sink += i;
}

/* Whoever comes meanwhile has to wait. */
APART static void store(void) {
    pthread_mutex_lock(&lock);
    step(2000);
    usleep(100);
    pthread_mutex_unlock(&lock);
}

APART static void request(uint64_t id) {
    tw_req_start(id);
    store();
    step(2000);
    tw_req_end(id);
    __atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
}

static void *serve(void *first) {
    for (uint64_t id = (uint64_t)first;; id += 2) {
        request(id);
        usleep(100);
    }
    return NULL;
}

APART static void *brief(void *nothing) {
    step(2000);
    return nothing;
}

/* Threads come and go all the time. */
static void *make(void *nothing) {
    for (pthread_t thread;; usleep(500))
        if (!pthread_create(&thread, NULL, brief, NULL))
            pthread_join(thread, NULL);
    return nothing;
}

APART static int child(void) {
    pid_t pid = fork();
    if (!pid) {
        step(2000);
        _exit(5);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

/* Calls a function of a library that comes for that alone, and goes. */
static int library(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    void (*const *plugin)(pthread_mutex_t *, long) = library ? dlsym(library, "plugin") : NULL;
    if (!plugin)
        return 1;
    (*plugin)(NULL, 20000);
    return dlclose(library);
}

static void answer(const char *command) {
    if (!strcmp(command, "rounds"))
        printf("%llu\n", (unsigned long long)__atomic_load_n(&rounds, __ATOMIC_RELAXED));
    else if (!strncmp(command, "start ", 6))
        printf("%d\n", tw_profile_start(command + 6));
    else if (!strcmp(command, "stop"))
        printf("%d\n", tw_profile_stop());
    else if (!strcmp(command, "fork"))
        printf("%d\n", child());
    else if (!strncmp(command, "library ", 8))
        printf("%d\n", library(command + 8));
    else if (!strcmp(command, "close"))
        closefrom(3), puts("0");
    else if (!strcmp(command, "exec"))
        execlp("cat", "cat", NULL);
    fflush(stdout);
}

int main(void) {
    pthread_t thread;
    char line[4096];
    for (uint64_t first = 0; first < 2; first++)
        if (pthread_create(&thread, NULL, serve, (void *)first))
            return 1;
    if (pthread_create(&thread, NULL, make, NULL))
        return 1;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        answer(line);
    }
    return 0;
}
