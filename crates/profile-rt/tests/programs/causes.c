/* Requests that are slow for a planted reason, one for each word: tests/tests/profile_causes.rs plants the other half of it
 * (neighbours on the first core) and reads who is named. */
#define _GNU_SOURCE
#include <tailwater/profile.h>

#include <arpa/inet.h>
#include <linux/futex.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { FRESH_PAGES = 2048, PAGE = 4096, EACH_SLOW = 10 };
/* Timers that end at once, and files that are left to others. */
enum { TIMERS_MAX = 20000, FILES_LEFT = 200 };
/* Sockets that each packet of the flood goes to: handing it out is what takes the core. */
enum { RECEIVERS = 200, PORT = 4711 };
/* How the program ends where the flood cannot be planted. */
enum { NO_NETWORK = 4 };

static volatile uint64_t sink;

static uint64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Has a core for so long, however long it waits for one. */
static NOINLINE void work(uint64_t us) {
    for (uint64_t end = thread_ns() + us * 1000u; thread_ns() < end;)
        for (int i = 0; i < 200; i++)
            sink = sink + 1;
}

static void nap(long us) {
    struct timespec time = { 0, us * 1000 };
    nanosleep(&time, NULL);
}

/* Before all normal threads: what else the machine has to do is not planted, and may not be a cause. */
static void first(int policy) {
    struct sched_param param = { .sched_priority = 1 };
    if (pthread_setschedparam(pthread_self(), policy, &param))
        exit(3);
}

static void stay_on(int nth) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        exit(3);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || nth-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

/* ---- another thread plants, when it is told to ---- */

static sem_t begin, held;
static unsigned long rounds;

static void helped_by(void *(*help)(void *), pthread_t *thread) {
    sem_init(&begin, 0, 0);
    sem_init(&held, 0, 0);
    if (pthread_create(thread, NULL, help, NULL))
        exit(1);
}

/* ---- the core has neighbours ---- */

/* They take turns with one another and with what is planted on their core. */
static void neighbour(void) {
    stay_on(0);
    first(SCHED_RR);
}

static void run(unsigned long requests) {
    neighbour();
    for (unsigned long request = 0; request < requests; request++) {
        tw_req_start(request);
        work(1000);
        sched_yield();
        work(1000);
        tw_req_end(request);
    }
}

/* ---- who holds the lock has no core ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void hold(void) {
    pthread_mutex_lock(&lock);
    sem_post(&held);
    work(1000);
    sched_yield();
    work(1000);
    pthread_mutex_unlock(&lock);
}

static void meet(void) {
    pthread_mutex_lock(&lock);
    work(50);
    pthread_mutex_unlock(&lock);
}

/* How the holder has the lock. */
static void (*holds)(void);

static void *holder(void *nothing) {
    pthread_setname_np(pthread_self(), "holder");
    neighbour();
    for (unsigned long round = 0; round < rounds; round++) {
        sem_wait(&begin);
        holds();
    }
    return nothing;
}

/* Each request finds the lock held. */
static void contend(unsigned long requests, void (*of_holder)(void), void (*of_request)(void)) {
    pthread_t thread;
    rounds = requests;
    holds = of_holder;
    helped_by(holder, &thread);
    stay_on(1);
    first(SCHED_FIFO);
    for (unsigned long request = 0; request < requests; request++) {
        sem_post(&begin);
        sem_wait(&held);
        tw_req_start(request);
        of_request();
        tw_req_end(request);
    }
    pthread_join(thread, NULL);
}

/* ---- the lock is none of pthreads ---- */

/* 0: free, 1: held, 2: held, and something may wait. */
static _Atomic uint32_t word;

static NOINLINE void take(void) {
    uint32_t found = 0;
    if (atomic_compare_exchange_strong(&word, &found, 1))
        return;
    while (atomic_exchange(&word, 2))
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static NOINLINE void let_go(void) {
    if (atomic_exchange(&word, 0) == 2)
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    /* The call before is none in its tail. */
    sink = sink + 1;
}

static NOINLINE void hold_futex(void) {
    take();
    sem_post(&held);
    work(3000);
    let_go();
    sink = sink + 1;
}

static void meet_futex(void) {
    take();
    let_go();
}

/* ---- memory that nothing has touched ---- */

static void touch(unsigned long requests) {
    first(SCHED_FIFO);
    for (unsigned long request = 0; request < requests; request++) {
        size_t size = (size_t)(request % EACH_SLOW ? 4 : FRESH_PAGES) * PAGE;
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            exit(1);
        madvise(memory, size, MADV_NOHUGEPAGE);
        tw_req_start(request);
        work(50);
        for (size_t at = 0; at < size; at += PAGE)
            memory[at] = 1;
        tw_req_end(request);
        munmap(memory, size);
        nap(500);
    }
}

/* ---- interrupts have the core ---- */

enum { LOOP = 20000 };
static double loops_per_us;

static NOINLINE void loop(uint64_t loops) {
    for (uint64_t i = 0; i < loops; i++)
        sink = sink + 1;
}

/* The time of a thread counts what interrupts it, so work that an interrupt makes longer must be counted otherwise. */
static void calibrate(void) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 50; i++) {
        uint64_t began = thread_ns();
        loop(LOOP);
        uint64_t took = thread_ns() - began;
        least = took < least ? took : least;
    }
    loops_per_us = LOOP * 1000.0 / (double)(least ? least : 1);
}

static NOINLINE void work_loops(uint64_t us) {
    loop((uint64_t)((double)us * loops_per_us));
}

static int timers[TIMERS_MAX];
static int timers_count;
/* When they end. */
static uint64_t storm_ns;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void make_timers(void) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (; timers_count < TIMERS_MAX; timers_count++)
        if ((timers[timers_count] = timerfd_create(CLOCK_MONOTONIC, 0)) < 0)
            break;
    for (int left = 0; left < FILES_LEFT && timers_count > 0; left++)
        close(timers[--timers_count]);
}

/* A timer ends in the interrupt of the core on which it was set. */
static uint64_t set_timers(uint64_t at_ns) {
    struct itimerspec at = { .it_value = { (time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u) } };
    uint64_t began = now_ns();
    for (int i = 0; i < timers_count; i++)
        timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &at, NULL);
    return now_ns() - began;
}

static void *stormer(void *nothing) {
    pthread_setname_np(pthread_self(), "stormer");
    stay_on(0);
    first(SCHED_FIFO);
    make_timers();
    /* Long before they end. */
    uint64_t takes_ns = set_timers(now_ns() + 3600000000000u);
    for (unsigned long round = 0; round < rounds; round++) {
        sem_wait(&begin);
        storm_ns = now_ns() + 3 * takes_ns + 5000000u;
        set_timers(storm_ns);
        sem_post(&held);
    }
    return nothing;
}

static void storm(unsigned long requests) {
    pthread_t thread;
    rounds = (requests + EACH_SLOW - 1) / EACH_SLOW;
    stay_on(0);
    first(SCHED_FIFO);
    calibrate();
    helped_by(stormer, &thread);
    for (unsigned long request = 0; request < requests; request++) {
        if (request % EACH_SLOW == 0) {
            sem_post(&begin);
            sem_wait(&held);
            uint64_t soon_ns = storm_ns - 500000u;
            struct timespec soon = { (time_t)(soon_ns / 1000000000u), (long)(soon_ns % 1000000000u) };
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &soon, NULL);
            while (now_ns() < storm_ns - 50000u)
                ;
        }
        tw_req_start(request);
        work_loops(100);
        tw_req_end(request);
        nap(500);
    }
    pthread_join(thread, NULL);
}

/* ---- packets have the core ---- */

static _Atomic int is_flooded;

/* A network of its own, in which the first core receives what any core sends. */
static int network(void) {
    if (unshare(CLONE_NEWNET | CLONE_NEWNS))
        return 0;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("sysfs", "/sys", "sysfs", 0, NULL))
        return 0;
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    int cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed))
        cpu++;
    FILE *steering = cpu < 32 ? fopen("/sys/class/net/lo/queues/rx-0/rps_cpus", "w") : NULL;
    if (!steering)
        return 0;
    fprintf(steering, "%x", 1u << cpu);
    if (fclose(steering))
        return 0;
    struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int any = socket(AF_INET, SOCK_DGRAM, 0);
    int is_up = any >= 0 && !ioctl(any, SIOCSIFFLAGS, &loopback);
    close(any);
    return is_up;
}

static int receiver(void) {
    int one = 1, file = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(PORT) };
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    return bind(file, (struct sockaddr *)&own, sizeof own) ? -1 : file;
}

/* One packet at a time, so that the kernel receives it in an interrupt: it gives more to a thread of its own. */
static void flood_core(const int *receivers, int sender, const struct sockaddr_in *all) {
    char packet[64] = { 0 };
    while (is_flooded) {
        sendto(sender, packet, sizeof packet, 0, (const struct sockaddr *)all, sizeof *all);
        uint64_t until = now_ns() + 1000000u;
        /* One of them has it last: they are at the ends of the kernel's list. */
        for (int i = 0; i < RECEIVERS; i += RECEIVERS - 1)
            while (recv(receivers[i], packet, sizeof packet, MSG_DONTWAIT) < 0 && now_ns() < until)
                ;
    }
}

static void *flooder(void *nothing) {
    static int receivers[RECEIVERS];
    pthread_setname_np(pthread_self(), "flooder");
    if (!network())
        exit(NO_NETWORK);
    stay_on(1);
    first(SCHED_FIFO);
    for (int i = 0; i < RECEIVERS; i++)
        if ((receivers[i] = receiver()) < 0)
            exit(NO_NETWORK);
    int one = 1, sender = socket(AF_INET, SOCK_DGRAM, 0);
    setsockopt(sender, SOL_SOCKET, SO_BROADCAST, &one, sizeof one);
    struct sockaddr_in all = { .sin_family = AF_INET, .sin_port = htons(PORT) };
    inet_pton(AF_INET, "127.255.255.255", &all.sin_addr);
    for (unsigned long round = 0; round < rounds; round++) {
        sem_wait(&begin);
        sem_post(&held);
        flood_core(receivers, sender, &all);
    }
    return nothing;
}

static void flood(unsigned long requests) {
    pthread_t thread;
    rounds = (requests + EACH_SLOW - 1) / EACH_SLOW;
    helped_by(flooder, &thread);
    stay_on(0);
    first(SCHED_FIFO);
    calibrate();
    for (unsigned long request = 0; request < requests; request++) {
        is_flooded = request % EACH_SLOW == 0;
        if (is_flooded) {
            sem_post(&begin);
            sem_wait(&held);
        }
        tw_req_start(request);
        work_loops(500);
        tw_req_end(request);
        is_flooded = 0;
        /* Whoever reads the events has the other core meanwhile. */
        nap(2000);
    }
    pthread_join(thread, NULL);
}

/* ---- nothing is planted: some requests have more to do than others ---- */

static void control(unsigned long requests) {
    first(SCHED_FIFO);
    for (unsigned long request = 0; request < requests; request++) {
        tw_req_start(request);
        work(request % EACH_SLOW ? 200 : 2000);
        tw_req_end(request);
        nap(500);
    }
}

int main(int count, char **words) {
    if (count > 1 && !strcmp(words[1], "hog")) {
        /* It has a core for itself, and its starter may be killed. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (neighbour();;)
            sink = sink + 1;
    }
    if (count < 3)
        return 2;
    unsigned long requests = strtoul(words[2], NULL, 10);
    if (!strcmp(words[1], "run"))
        run(requests);
    else if (!strcmp(words[1], "locked"))
        contend(requests, hold, meet);
    else if (!strcmp(words[1], "futex"))
        contend(requests, hold_futex, meet_futex);
    else if (!strcmp(words[1], "touch"))
        touch(requests);
    else if (!strcmp(words[1], "storm"))
        storm(requests);
    else if (!strcmp(words[1], "flood"))
        flood(requests);
    else if (!strcmp(words[1], "control"))
        control(requests);
    else
        return 2;
    return 0;
}
