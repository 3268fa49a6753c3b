#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "CStorage.h"

#if defined(__linux__)
#include <fcntl.h>
#endif

void stratus_start_writing(int file, int64_t offset, int64_t count) {
#if defined(__linux__)
    // Advice: a file system that does not take it writes later.
    (void)sync_file_range(file, offset, count, SYNC_FILE_RANGE_WRITE);
#else
    (void)file;
    (void)offset;
    (void)count;
#endif
}
