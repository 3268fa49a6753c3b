// What the storage needs and Swift cannot express: a checksum by the processor's own instruction, system calls that
// Swift does not import, and SQLite's settings that take a variable number of arguments.

#ifndef STRATUS_CSTORAGE_H
#define STRATUS_CSTORAGE_H

#include <stddef.h>
#include <stdint.h>

// The CRC-32C (Castagnoli) of `count` bytes, continued from `checksum`, which is 0 at the beginning. It is the same on
// every machine: the checksum of "123456789" is 0xE3069283.
uint32_t stratus_crc32c(uint32_t checksum, const void *bytes, size_t count);

// The same for the eight bytes of a number, the lowest first.
uint32_t stratus_crc32c_number(uint32_t checksum, uint64_t number);

// The same for the eight bytes of `count`, and then for that many bytes.
uint32_t stratus_crc32c_counted(uint32_t checksum, const void *bytes, size_t count);

// The same by a table, for machines without the instruction.
uint32_t stratus_crc32c_by_table(uint32_t checksum, const void *bytes, size_t count);

// Writes some bytes of a file from the system's memory to the disk, and waits until they are there. The disk may still
// have them in its own memory, because nothing is synchronised. Returns 0, or the error number if bytes did not reach
// the disk; fsync does not report them again.
int stratus_write_back(int file, int64_t offset, int64_t count);

struct sqlite3;

// Moves the whole write-ahead log into its file, and keeps the empty log and its index when the last connection is
// closed. Returns 0, and leaves the closing as it was, if another connection is reading or writing.
int stratus_empty_log(struct sqlite3 *connection);

// The number of SQLite's steps after which a statement yields the processor: about half a millisecond.
#define STRATUS_STEPS_BEFORE_YIELD 4000

// Makes long statements of a connection yield the processor regularly. On Linux a thread that wakes up may wait for the
// thread that runs on its processor, for up to one tick of the clock (4 ms at 250 ticks a second), even if another
// processor is idle.
void stratus_yield_often(struct sqlite3 *connection);

// Yields the processor now.
void stratus_yield(void);

// How often the calling thread has yielded in these functions.
int64_t stratus_yields(void);

// Turns off SQLite's count of the memory that it uses: it costs a seventh of the time to open a file, and the service
// does not read it. Has an effect only before SQLite's first use in the process.
void stratus_leave_memory_uncounted(void);

#endif
