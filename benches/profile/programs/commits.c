/* A store in SQLite with a write-ahead log: each request changes some rows and commits. Requests are due at
 * regular times, and latency counts from these. The log is copied back `within` the commit that finds it
 * long, as SQLite does by itself, or by a thread `aside`.
 *
 * Usage: commits FILE SECONDS RATE within|aside     FILE and its log are made anew.
 * Prints one JSON object. */
#include "sqlite3.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Rows of 100 bytes: some 25 MB. A request changes 20, most of them on pages of their own. */
enum { ROWS = 200000, ROWS_CHANGED = 20, LOG_PAGES = 1000 };

static sem_t log_is_long, all_is_over;

static void check(sqlite3 *db, int code) {
    if (code == SQLITE_OK || code == SQLITE_DONE)
        return;
    fprintf(stderr, "commits: %s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    exit(1);
}

static void execute(sqlite3 *db, const char *text) { check(db, sqlite3_exec(db, text, 0, 0, 0)); }

static sqlite3 *open_store(const char *file) {
    sqlite3 *db;
    check(0, sqlite3_open(file, &db));
    execute(db, "pragma journal_mode = wal");
    execute(db, "pragma synchronous = normal");
    return db;
}

static void fill(sqlite3 *db) {
    execute(db, "create table item(id integer primary key, value blob)");
    execute(db, "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) "
                "insert into item select i, zeroblob(100) from n");
    execute(db, "pragma wal_checkpoint(truncate)");
}

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t ns) {
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, 0))
        ;
}

static uint64_t chance(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* One request. */
static __attribute__((noinline)) void commit(sqlite3 *db, sqlite3_stmt *change, uint64_t *state) {
    execute(db, "begin immediate");
    for (int row = 0; row < ROWS_CHANGED; row++) {
        sqlite3_bind_int(change, 1, (int)(chance(state) % ROWS) + 1);
        check(db, sqlite3_step(change));
        check(db, sqlite3_reset(change));
    }
    execute(db, "commit");
}

/* Called after each commit, instead of SQLite's own, which copies. */
static int tell(void *unused, sqlite3 *db, const char *name, int pages) {
    (void)unused, (void)db, (void)name;
    int told;
    sem_getvalue(&log_is_long, &told);
    if (pages >= LOG_PAGES && told == 0)
        sem_post(&log_is_long);
    return SQLITE_OK;
}

static void *copy_back(void *file) {
    sqlite3 *db = open_store(file);
    for (;;) {
        sem_wait(&log_is_long);
        if (sem_trywait(&all_is_over) == 0)
            break;
        check(db, sqlite3_wal_checkpoint_v2(db, 0, SQLITE_CHECKPOINT_PASSIVE, 0, 0));
    }
    check(db, sqlite3_close(db));
    return 0;
}

static int by_size(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static double quantile_us(const uint64_t *sorted, uint64_t count, double q) {
    return (double)sorted[(uint64_t)((double)(count - 1) * q)] / 1e3;
}

static void serve(sqlite3 *db, uint64_t requests, uint64_t gap_ns, uint64_t *took) {
    sqlite3_stmt *change;
    check(db, sqlite3_prepare_v2(db, "update item set value = randomblob(100) where id = ?1", -1, &change, 0));
    uint64_t state = 1, start = now_ns() + gap_ns;
    for (uint64_t request = 0; request < requests; request++) {
        uint64_t due = start + request * gap_ns;
        sleep_until(due);
        commit(db, change, &state);
        took[request] = now_ns() - due;
    }
    check(db, sqlite3_finalize(change));
}

static void remove_old(const char *file) {
    const char *const ends[] = {"", "-wal", "-shm"};
    char name[4096];
    for (int end = 0; end < 3; end++) {
        snprintf(name, sizeof name, "%s%s", file, ends[end]);
        unlink(name);
    }
}

int main(int argc, char **argv) {
    if (argc != 5 || atoi(argv[2]) < 1 || atoi(argv[3]) < 1)
        return fprintf(stderr, "usage: commits FILE SECONDS RATE within|aside\n"), 2;
    int aside = !strcmp(argv[4], "aside"), rate = atoi(argv[3]);
    uint64_t requests = (uint64_t)atoi(argv[2]) * (uint64_t)rate;
    uint64_t *took = malloc(requests * sizeof *took);
    remove_old(argv[1]);
    sqlite3 *db = open_store(argv[1]);
    fill(db);
    pthread_t copier;
    sem_init(&log_is_long, 0, 0), sem_init(&all_is_over, 0, 0);
    if (aside) {
        sqlite3_wal_hook(db, tell, 0);
        pthread_create(&copier, 0, copy_back, argv[1]);
    }
    serve(db, requests, 1000000000u / (unsigned)rate, took);
    if (aside)
        sem_post(&all_is_over), sem_post(&log_is_long), pthread_join(copier, 0);
    check(db, sqlite3_close(db));
    qsort(took, requests, sizeof *took, by_size);
    printf("{\"requests\": %lu, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f}\n", (unsigned long)requests,
           quantile_us(took, requests, 0.5), quantile_us(took, requests, 0.99), quantile_us(took, requests, 0.999));
}
