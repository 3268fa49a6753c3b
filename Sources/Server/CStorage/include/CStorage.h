// What the storage needs and Swift cannot say: a checksum by the processor's own instruction, calls of the
// system that Swift does not know, and settings of SQLite's that take arguments of any number.

#ifndef STRATUS_CSTORAGE_H
#define STRATUS_CSTORAGE_H

#include <stddef.h>
#include <stdint.h>

// CRC-32C (Castagnoli) of `count` bytes, continued from `checksum`; 0 begins. The same on every machine:
// the checksum of "123456789" is 0xE3069283.
uint32_t stratus_crc32c(uint32_t checksum, const void *bytes, size_t count);

// The same of a number's eight bytes, the lowest first.
uint32_t stratus_crc32c_number(uint32_t checksum, uint64_t number);

// The same of a count's eight bytes and then of so many bytes.
uint32_t stratus_crc32c_counted(uint32_t checksum, const void *bytes, size_t count);

// The same by a table: what machines without the instruction do.
uint32_t stratus_crc32c_by_table(uint32_t checksum, const void *bytes, size_t count);

// Has the system write some bytes of a file, which it has in memory, to the disk, and waits for it. Nothing is
// synchronised: the disk may still have them in its own memory. Returns 0, or the error number of bytes that did not
// reach it: fsync does not report them again.
int stratus_write_back(int file, int64_t offset, int64_t count);

struct sqlite3;

// Moves all of the write-ahead log into its file and has the log, empty, and its index stay there when the last
// connection is closed. Returns 0, and changes nothing of how it is closed, where somebody reads or writes.
int stratus_empty_log(struct sqlite3 *connection);

// SQLite's steps before a statement yields the processor: about half a millisecond.
#define STRATUS_STEPS_BEFORE_YIELD 4000

// Has long statements of a connection yield the processor now and then. Linux lets a thread that wakes wait behind the
// one that works on its processor, for up to a tick of the clock (4 ms at 250 ticks a second), even where another
// processor is idle.
void stratus_yield_often(struct sqlite3 *connection);

// Yields the processor now.
void stratus_yield(void);

// How often the calling thread has yielded by these functions.
int64_t stratus_yields(void);

// Has SQLite not count the memory that it takes, which costs a seventh of opening a file and is read by
// nobody. Works before SQLite's first use in the process, and changes nothing later.
void stratus_leave_memory_uncounted(void);

#endif
