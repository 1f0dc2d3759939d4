/* SQLite in memory under a mix of work, round after round: rows are written in a transaction and removed again, some are
 * looked up, some are put in order, groups are added up, and a statement is compiled. For diff.sh.
 *
 * Usage: queries SECONDS
 * Each round must find what the first has found. Prints how many there were, and the answer. */
#include "sqlite3.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Each kind takes some hundred microseconds: the scanner sees such calls for sure. */
enum { ROWS = 2000, ROWS_WRITTEN = 500, LOOKUPS = 500, ROWS_IN_ORDER = 500, COLUMNS = 400 };

#define APART __attribute__((noinline))
/* Part of main, which calls SQLite itself: what is compiled has no other caller. */
#define PART static inline __attribute__((always_inline))

#define BEGINNING "select id"
#define COLUMN ", price * 3 + kind - 17 + length(name)"
#define ENDING " from item where id = ?1 and name <> ?2"

static char wide[sizeof BEGINNING + COLUMNS * sizeof COLUMN + sizeof ENDING];
static sqlite3 *db;
static sqlite3_stmt *begin, *commit, *insert, *delete, *one, *ordered, *groups;

static void check(int code) {
    if (code == SQLITE_OK || code == SQLITE_DONE)
        return;
    fprintf(stderr, "queries: %s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

PART sqlite3_stmt *compiled(const char *text) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(db, text, -1, &statement, 0));
    return statement;
}

static void done(sqlite3_stmt *statement) {
    check(sqlite3_step(statement));
    check(sqlite3_reset(statement));
}

/* FNV-1a over all that a statement finds. */
static uint64_t found(sqlite3_stmt *statement, uint64_t hash) {
    int state;
    while ((state = sqlite3_step(statement)) == SQLITE_ROW)
        for (int column = 0; column < sqlite3_column_count(statement); column++)
            for (const unsigned char *byte = sqlite3_column_text(statement, column); byte && *byte; byte++)
                hash = (hash ^ *byte) * 1099511628211u;
    check(state);
    check(sqlite3_reset(statement));
    return hash;
}

static void fill(void) {
    strcpy(wide, BEGINNING);
    for (int number = 0; number < COLUMNS; number++)
        strcat(wide, COLUMN);
    strcat(wide, ENDING);
    check(sqlite3_open(":memory:", &db));
    check(sqlite3_exec(db,
                       "create table kind(id integer primary key, name text);"
                       "create table item(id integer primary key, kind integer, name text, price real);"
                       "with recursive n(i) as (select 0 union all select i + 1 from n where i < 96)"
                       " insert into kind select i, 'kind ' || i from n;"
                       "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)"
                       " insert into item select i, i * 7919 % 97, 'item ' || i, i * 7927 % 2003 * 0.5 from n;"
                       "create index by_kind on item(kind, price)",
                       0, 0, 0));
    begin = compiled("begin"), commit = compiled("commit");
    insert = compiled("insert into item values(?1, ?1 % 97, 'item ' || ?1, ?1 * 0.25)");
    delete = compiled("delete from item where id > 2000");
    one = compiled("select name, price from item where id = ?1");
    ordered = compiled("select id, price from item where id <= ?1 order by price, id desc");
    groups = compiled("select kind, count(*), sum(price) from item group by kind");
}

APART static void write_rows(void) {
    done(begin);
    for (int row = 1; row <= ROWS_WRITTEN; row++) {
        sqlite3_bind_int(insert, 1, ROWS + row);
        done(insert);
    }
    done(commit);
}

APART static void remove_rows(void) { done(delete); }

APART static uint64_t look_up(uint64_t hash) {
    for (int number = 0; number < LOOKUPS; number++) {
        sqlite3_bind_int(one, 1, number * 7927 % ROWS + 1);
        hash = found(one, hash);
    }
    return hash;
}

APART static uint64_t put_in_order(uint64_t hash) {
    sqlite3_bind_int(ordered, 1, ROWS_IN_ORDER);
    return found(ordered, hash);
}

APART static uint64_t add_up(uint64_t hash) { return found(groups, hash); }

PART uint64_t compile(uint64_t hash) {
    sqlite3_stmt *statement = compiled(wide);
    hash += (uint64_t)sqlite3_bind_parameter_count(statement);
    check(sqlite3_finalize(statement));
    return hash;
}

int main(int argc, char **argv) {
    double end = now() + (argc > 1 ? atof(argv[1]) : 1);
    fill();
    uint64_t rounds = 0, answer = 0;
    for (; rounds == 0 || now() < end; rounds++) {
        uint64_t hash = 1469598103934665603u;
        write_rows();
        hash = look_up(hash);
        hash = put_in_order(hash);
        hash = add_up(hash);
        hash = compile(hash);
        remove_rows();
        if (rounds > 0 && hash != answer)
            return fprintf(stderr, "queries: round %lu found something else\n", (unsigned long)rounds), 1;
        answer = hash;
    }
    printf("%lu %016lx\n", (unsigned long)rounds, (unsigned long)answer);
    return 0;
}
