#include "CStorage.h"

#include <sqlite3.h>

int stratus_empty_log(struct sqlite3 *connection) {
    // The checkpoint does not wait for other readers of the file.
    if (sqlite3_busy_timeout(connection, 0) != SQLITE_OK) { return 0; }
    int mode = SQLITE_CHECKPOINT_TRUNCATE;
    if (sqlite3_wal_checkpoint_v2(connection, NULL, mode, NULL, NULL) != SQLITE_OK) { return 0; }
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK;
}

void stratus_leave_memory_uncounted(void) { (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
