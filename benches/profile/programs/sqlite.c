/* SQLite in memory: rows written in a transaction, an index, lookups, a join with groups and order.
 * Compiled together with SQLite's own single file. Usage: sqlite ROUNDS.
 * Prints the answer and the thread's CPU time in ns. */
#include "clock.h"
#include "sqlite3.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 20000, LOOKUPS = 20000 };

static void check(sqlite3 *db, int code) {
    if (code == SQLITE_OK)
        return;
    fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
    exit(1);
}

static void execute(sqlite3 *db, const char *text) { check(db, sqlite3_exec(db, text, 0, 0, 0)); }

static void fill(sqlite3 *db) {
    execute(db, "create table item(id integer primary key, kind integer, name text, price real)");
    execute(db, "create table kind(id integer primary key, name text)");
    execute(db, "begin");
    sqlite3_stmt *insert;
    check(db, sqlite3_prepare_v2(db, "insert into item values(?1, ?1 * 7919 % 97, 'item ' || ?1, ?1 * 0.5)",
                                 -1, &insert, 0));
    for (int id = 1; id <= ROWS; id++) {
        sqlite3_bind_int(insert, 1, id);
        sqlite3_step(insert);
        check(db, sqlite3_reset(insert));
    }
    sqlite3_finalize(insert);
    execute(db, "insert into kind select distinct kind, 'kind ' || kind from item");
    execute(db, "commit");
    execute(db, "create index by_kind on item(kind, name)");
}

/* Everything that a query finds. */
static uint64_t ask(sqlite3 *db, sqlite3_stmt *query, uint64_t hash) {
    int state;
    while ((state = sqlite3_step(query)) == SQLITE_ROW)
        hash = mix(mix(hash, sqlite3_column_int64(query, 0)), sqlite3_column_bytes(query, 1));
    check(db, state == SQLITE_DONE ? sqlite3_reset(query) : state);
    return hash;
}

static uint64_t round_of(uint64_t hash) {
    sqlite3 *db;
    sqlite3_stmt *one, *groups;
    check(0, sqlite3_open(":memory:", &db));
    fill(db);
    check(db, sqlite3_prepare_v2(db, "select price, name from item where id = ?1", -1, &one, 0));
    for (int i = 0; i < LOOKUPS; i++) {
        sqlite3_bind_int(one, 1, (int)((long)i * 7927 % ROWS) + 1);
        hash = ask(db, one, hash);
    }
    sqlite3_finalize(one);
    check(db, sqlite3_prepare_v2(db,
                                 "select sum(price), kind.name from item join kind on kind.id = kind "
                                 "where item.name like '%7%' group by kind order by 1 desc",
                                 -1, &groups, 0));
    hash = ask(db, groups, hash);
    sqlite3_finalize(groups);
    check(db, sqlite3_close(db));
    return hash;
}

int main(int argc, char **argv) {
    uint64_t hash = 1469598103934665603u, start = cpu_ns();
    for (int round = argc > 1 ? atoi(argv[1]) : 1; round > 0; round--)
        hash = round_of(hash);
    printf("%016lx %lu\n", hash, cpu_ns() - start);
}
