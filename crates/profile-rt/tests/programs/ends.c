/* Programs that end otherwise than by a return from main, one for each word, and programs that have children. Built
 * by tailwater-cc; the tests in tests/tests/profile_ends.rs and profile_children.rs read the traces. */
#define _GNU_SOURCE
#include <tailwater/profile.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static volatile uint64_t sink;
static int *volatile nowhere;

APART static void work(unsigned n) {
    for (unsigned i = 0; i < n; i++)
        sink += i;
}

static void on_signal(int number) {
    (void)number;
    _exit(9);
}

/* The call that the program ends in. What comes after the switch is not reached. */
APART static void last_words(const char *way) {
    work(1000);
    if (!strcmp(way, "_exit"))
        _exit(7);
    if (!strcmp(way, "_Exit"))
        _Exit(7);
    if (!strcmp(way, "quick_exit"))
        quick_exit(7);
    if (!strcmp(way, "abort"))
        abort();
    if (!strcmp(way, "fault"))
        *nowhere = 1;
    if (!strcmp(way, "trap"))
        __builtin_trap();
    if (!strcmp(way, "killed"))
        raise(SIGTERM);
    if (!strcmp(way, "handled"))
        raise(SIGTERM);
    if (!strcmp(way, "default")) {
        struct sigaction before, as_ever = {.sa_handler = SIG_DFL};
        /* As it is told, nobody has the signal. */
        if (sigaction(SIGSEGV, NULL, &before) || before.sa_handler != SIG_DFL)
            _exit(1);
        sigaction(SIGSEGV, &as_ever, NULL);
        *nowhere = 1;
    }
    if (!strcmp(way, "restored")) {
        /* As it is told, nobody had the signal, and what was told is put back. */
        void (*before)(int) = signal(SIGTERM, on_signal);
        if (before != SIG_DFL || signal(SIGTERM, before) != on_signal)
            _exit(1);
        raise(SIGTERM);
    }
    sink++;
}

/* ---- main leaves, and a thread goes on ---- */

static void *rest(void *main_thread) {
    pthread_join(*(pthread_t *)main_thread, NULL);
    work(1000);
    return NULL;
}

static int leave(void) {
    static pthread_t self;
    pthread_t other;
    self = pthread_self();
    /* The C library writes it when it exits, and only then. */
    printf("left\n");
    pthread_create(&other, NULL, rest, &self);
    pthread_detach(other);
    pthread_exit(NULL);
}

/* ---- descriptors: all are closed, and the numbers are used anew ---- */

APART static int closes(const char *path) {
    closefrom(3);
    int files[64];
    for (unsigned i = 0; i < 64; i++)
        files[i] = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
    work(1000);
    exit(files[0] == 3 ? 0 : 1);
}

/* ---- the recorder's scanner ---- */

/* Its number; zero while there is none. */
static int scanner(void) {
    char path[300], name[32];
    int found = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && !found && (task = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file) && !strcmp(name, "tw-scanner\n"))
            found = atoi(task->d_name);
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

/* Until the scanner runs on that processor, and on no other. */
static int place(unsigned cpu) {
    for (;;) {
        cpu_set_t set;
        if (!sched_getaffinity(scanner(), sizeof set, &set) && CPU_COUNT(&set) == 1 &&
            CPU_ISSET(cpu, &set))
            return 0;
        usleep(1000);
    }
}

/* ---- children, which live until they are recorded ---- */

APART static void child_work(void) { work(1000); }

/* The call that a child ends in. */
APART static void last_child_work(unsigned way) {
    while (!scanner())
        child_work();
    if (way == 0)
        _exit(3);
    if (way == 1)
        raise(SIGTERM);
    exit(0);
}

static int workers(void) {
    for (unsigned i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0)
            last_child_work(i);
        int status;
        waitpid(child, &status, 0);
        if (i == 0 ? WEXITSTATUS(status) != 3 : WTERMSIG(status) != SIGTERM)
            return 1;
    }
    return 0;
}

static int is_daemon(void) {
    /* Keeps the folder and the output, by which the test waits for it. */
    if (daemon(1, 1))
        return 1;
    last_child_work(2);
    return 0;
}

static unsigned threads(void) {
    unsigned found = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));)
        found += task->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return found;
}

/* A child that may not write to the traces' folder by the time it would be recorded. */
static int drops(const char *folder) {
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 ? setgid(65534) || setuid(65534) : chmod(folder, 0555))
            _exit(1);
        /* The recorder's is there from the fork on, before it has a name, and gone when it has tried. */
        while (threads() > 1)
            child_work();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (getuid() != 0)
        chmod(folder, 0755);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/* ---- stacks as small as there are ---- */

APART static void small_handler(int number) {
    (void)number;
    work(1000);
    sink++;
}

APART static void small_work(unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++)
        work(100000);
    sink++;
}

/* The first call of the thread that is recorded is the handler's. */
TW_PROFILE_SKIP static void *small_thread(void *rounds) {
    stack_t stack = {.ss_size = (size_t)sysconf(_SC_SIGSTKSZ)};
    stack.ss_sp = malloc(stack.ss_size);
    struct sigaction handled = {.sa_handler = small_handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &handled, NULL);
    raise(SIGUSR1);
    small_work(*(unsigned *)rounds);
    return NULL;
}

static int small(unsigned rounds) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) ||
        pthread_create(&thread, &attributes, small_thread, &rounds))
        return 1;
    return pthread_join(thread, NULL);
}

/* ---- a caller that is gone by the time its callee runs ---- */

APART static void callee(unsigned n) { work(n); sink++; }
APART static void tail_caller(unsigned n) { callee(n + 1); }

static int tails(unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++)
        tail_caller(100000);
    return 0;
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    if (!strcmp(way, "pthread_exit"))
        return leave();
    if (!strcmp(way, "closes"))
        return closes(argv[2]);
    if (!strcmp(way, "workers"))
        return workers();
    if (!strcmp(way, "daemon"))
        return is_daemon();
    if (!strcmp(way, "drops"))
        return drops(argv[2]);
    if (!strcmp(way, "small"))
        return small((unsigned)strtoul(argv[2], NULL, 10));
    if (!strcmp(way, "place"))
        return place((unsigned)strtoul(argv[2], NULL, 10));
    if (!strcmp(way, "tails"))
        return tails((unsigned)strtoul(argv[2], NULL, 10));
    if (!strcmp(way, "handled"))
        signal(SIGTERM, on_signal);
    last_words(way);
    return 5;
}
