#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "CStorage.h"

#if defined(__linux__)
#include <fcntl.h>
#endif

void stratus_write_back(int file, int64_t offset, int64_t count) {
#if defined(__linux__)
    // Advice: what a file system does not write now, a later synchronisation does.
    (void)sync_file_range(file, offset, count,
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
#else
    (void)file;
    (void)offset;
    (void)count;
#endif
}
