#include "CStorage.h"

#include <sqlite3.h>

void stratus_keep_log(struct sqlite3 *connection) {
    // Fails for a database that is closed only, which has no log to keep.
    (void)sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

void stratus_leave_memory_uncounted(void) { (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
