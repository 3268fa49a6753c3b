// The peer "raw SQLite": inserts the very rows that the service wrote into fresh files, with the
// same tables, indexes and triggers, durably (write-ahead log, synchronous=FULL), and does nothing
// else.
//
//   rows SOURCE FOLDER FILES TRANSACTIONS LIMIT fresh|used
//
// Reads the rows of the database SOURCE into memory, then inserts them into each of FILES databases
// in FOLDER, in TRANSACTIONS transactions of equal size; the files take turns, a transaction each.
// It ends early after LIMIT transactions in all. Tables with fewer rows than transactions (zones,
// definitions of indexes) are filled beforehand. With "used" the files' logs have
// their usual length already. Prints one line of JSON.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    char name[100];
    int column_count;
    long row_count, row_room;
    sqlite3_value **values; // row by row
} Table;

typedef struct {
    sqlite3 *database;
    sqlite3_stmt *inserts[64], *begin, *commit;
} Target;

static Table tables[64];
static int table_count;
static sqlite3 *source;

static void fail(sqlite3 *database, const char *what) {
    fprintf(stderr, "rows: %s: %s\n", what, database ? sqlite3_errmsg(database) : "unexpected");
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void execute(sqlite3 *database, const char *text) {
    if (sqlite3_exec(database, text, NULL, NULL, NULL)) fail(database, text);
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *text) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, text, -1, &statement, NULL)) fail(database, text);
    return statement;
}

static void keep_row(Table *table, sqlite3_stmt *statement) {
    if (table->row_count == table->row_room) {
        table->row_room = 2 * table->row_room + 64;
        table->values = realloc(table->values,
                                table->row_room * table->column_count * sizeof *table->values);
        if (!table->values) fail(NULL, "realloc");
    }
    sqlite3_value **row = table->values + table->row_count++ * table->column_count;
    for (int i = 0; i < table->column_count; i++)
        row[i] = sqlite3_value_dup(sqlite3_column_value(statement, i));
}

// The rows in the order in which they were written. The index's entries have no order of their own:
// they were written with their records.
static void read_table(const char *name) {
    if (table_count == 64) fail(NULL, "more than 64 tables");
    Table *table = &tables[table_count++];
    snprintf(table->name, sizeof table->name, "%s", name);
    char text[500];
    snprintf(text, sizeof text, "SELECT * FROM \"%s\" AS t%s", name,
             strcmp(name, "record_index") ? ""
                 : " ORDER BY (SELECT r.version FROM record AS r WHERE r.zone = t.zone"
                   " AND r.name = t.name)");
    sqlite3_stmt *statement = prepare(source, text);
    table->column_count = sqlite3_column_count(statement);
    int state;
    while ((state = sqlite3_step(statement)) == SQLITE_ROW) keep_row(table, statement);
    if (state != SQLITE_DONE) fail(source, name);
    sqlite3_finalize(statement);
}

// Whether a table's rows come with the transactions.
static int is_timed(const Table *table, long transactions) {
    return table->row_count >= transactions;
}

static void insert_rows(Target *target, int index, long from, long to) {
    Table *table = &tables[index];
    sqlite3_stmt *insert = target->inserts[index];
    for (long row = from; row < to; row++) {
        for (int i = 0; i < table->column_count; i++)
            sqlite3_bind_value(insert, i + 1, table->values[row * table->column_count + i]);
        if (sqlite3_step(insert) != SQLITE_DONE) fail(target->database, table->name);
        sqlite3_reset(insert);
    }
}

static void copy_schema(Target *target) {
    sqlite3_stmt *statement = prepare(
        source, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
                "ORDER BY type <> 'table', rowid");
    while (sqlite3_step(statement) == SQLITE_ROW)
        execute(target->database, (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
}

// Writes the log to its usual length and begins it again, so that commits overwrite it in place as in
// a database that has been used. A commit that lengthens the file costs the disk several times more.
static void fill_log(sqlite3 *database) {
    execute(database, "PRAGMA wal_autocheckpoint = 0; CREATE TABLE filling (bytes BLOB);"
                      "INSERT INTO filling VALUES (zeroblob(6000000)); DROP TABLE filling;"
                      "PRAGMA wal_checkpoint(RESTART); PRAGMA wal_autocheckpoint = 1000;");
}

static void open_target(Target *target, const char *folder, int number, long transactions,
                        int is_used) {
    char text[1000];
    snprintf(text, sizeof text, "%s/rows-%d.sqlite", folder, number);
    if (sqlite3_open(text, &target->database)) fail(target->database, text);
    execute(target->database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    sqlite3_stmt *synchronous = prepare(target->database, "PRAGMA synchronous");
    if (sqlite3_step(synchronous) != SQLITE_ROW || sqlite3_column_int(synchronous, 0) != 2)
        fail(target->database, "synchronous is not FULL");
    sqlite3_finalize(synchronous);
    copy_schema(target);
    target->begin = prepare(target->database, "BEGIN IMMEDIATE");
    target->commit = prepare(target->database, "COMMIT");
    execute(target->database, "BEGIN");
    for (int i = 0; i < table_count; i++) {
        int length = snprintf(text, sizeof text, "INSERT INTO \"%s\" VALUES (?", tables[i].name);
        for (int column = 1; column < tables[i].column_count; column++)
            length += snprintf(text + length, sizeof text - length, ",?");
        snprintf(text + length, sizeof text - length, ")");
        target->inserts[i] = prepare(target->database, text);
        if (!is_timed(&tables[i], transactions)) insert_rows(target, i, 0, tables[i].row_count);
    }
    execute(target->database, "COMMIT");
    if (is_used) fill_log(target->database);
}

static void step(Target *target, sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) fail(target->database, "transaction");
    sqlite3_reset(statement);
}

static void transact(Target *target, long number, long transactions) {
    step(target, target->begin);
    for (int i = 0; i < table_count; i++) {
        if (!is_timed(&tables[i], transactions)) continue;
        long rows = tables[i].row_count;
        insert_rows(target, i, rows * number / transactions, rows * (number + 1) / transactions);
    }
    step(target, target->commit);
}

int main(int count, char **arguments) {
    if (count != 7) {
        fprintf(stderr, "usage: rows SOURCE FOLDER FILES TRANSACTIONS LIMIT fresh|used\n");
        return 2;
    }
    int file_count = atoi(arguments[3]);
    long transactions = atol(arguments[4]), limit = atol(arguments[5]), done = 0;
    if (sqlite3_open_v2(arguments[1], &source, SQLITE_OPEN_READWRITE, NULL))
        fail(source, arguments[1]);
    sqlite3_stmt *names = prepare(
        source, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    while (sqlite3_step(names) == SQLITE_ROW)
        read_table((const char *)sqlite3_column_text(names, 0));
    sqlite3_finalize(names);
    Target *targets = calloc(file_count, sizeof *targets);
    for (int i = 0; i < file_count; i++)
        open_target(&targets[i], arguments[2], i, transactions, !strcmp(arguments[6], "used"));

    double start = seconds();
    for (long number = 0; number < transactions && done < limit; number++)
        for (int i = 0; i < file_count && done < limit; i++, done++)
            transact(&targets[i], number, transactions);
    printf("{\"seconds\": %.6f, \"transactions\": %ld}\n", seconds() - start, done);
    return 0;
}
