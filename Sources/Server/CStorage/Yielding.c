#include "CStorage.h"

#include <sched.h>
#include <sqlite3.h>

// How often this thread has yielded.
static _Thread_local int64_t yields;

void stratus_yield(void) {
    yields += 1;
    (void)sched_yield();
}

static int go_on_after_yield(void *context) {
    (void)context;
    stratus_yield();
    return 0;
}

void stratus_yield_often(struct sqlite3 *connection) {
    sqlite3_progress_handler(connection, STRATUS_STEPS_BEFORE_YIELD, go_on_after_yield, NULL);
}

int64_t stratus_yields(void) { return yields; }
