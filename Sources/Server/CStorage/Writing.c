#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "CStorage.h"

#if defined(__linux__)
#include <fcntl.h>
#endif

void stratus_write_back(int file, int64_t offset, int64_t count, int64_t piece) {
#if defined(__linux__)
    // Advice, all of it: what a file system does not write now, a later synchronisation does.
    int64_t end = offset + count;
    for (int64_t start = offset; start < end; start += piece) {
        int64_t length = end - start < piece ? end - start : piece;
        (void)sync_file_range(file, start, length, SYNC_FILE_RANGE_WRITE);
        if (start > offset) {
            (void)sync_file_range(file, start - piece, piece,
                                  SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
        }
    }
    (void)sync_file_range(file, offset, count,
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
#else
    (void)piece;
    (void)file;
    (void)offset;
    (void)count;
#endif
}
