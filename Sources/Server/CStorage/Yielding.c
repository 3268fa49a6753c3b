#include "CStorage.h"

#include <sched.h>
#include <sqlite3.h>

// Of this thread.
static _Thread_local int64_t yields;

static int yield_processor(void *context) {
    (void)context;
    yields += 1;
    (void)sched_yield();
    return 0;
}

void stratus_yield_often(struct sqlite3 *connection) {
    sqlite3_progress_handler(connection, STRATUS_STEPS_BEFORE_YIELD, yield_processor, NULL);
}

int64_t stratus_yields(void) { return yields; }
