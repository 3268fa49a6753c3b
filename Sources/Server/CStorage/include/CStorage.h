// What the storage needs and Swift cannot say: a checksum by the processor's own instruction, and a
// number in mapped memory that only grows.

#ifndef STRATUS_CSTORAGE_H
#define STRATUS_CSTORAGE_H

#include <stddef.h>
#include <stdint.h>

// CRC-32C (Castagnoli) of `count` bytes, continued from `checksum`; 0 begins. The same on every machine:
// the checksum of "123456789" is 0xE3069283.
uint32_t stratus_crc32c(uint32_t checksum, const void *bytes, size_t count);

// The same of a number's eight bytes, the lowest first.
uint32_t stratus_crc32c_number(uint32_t checksum, uint64_t number);

// The same by a table: what machines without the instruction do.
uint32_t stratus_crc32c_by_table(uint32_t checksum, const void *bytes, size_t count);

// The number at an address that is a multiple of eight. Other processes may have the page mapped too.
uint64_t stratus_mapped_load(const void *address);

// Stores a number there unless a greater one is there.
//
// Returns what was there before.
uint64_t stratus_mapped_raise(void *address, uint64_t number);

// Stores a number there, whatever was there.
void stratus_mapped_store(void *address, uint64_t number);

#endif
