#include "CStorage.h"

// Lock-free on every machine that has 64-bit pointers, which is what makes it right between processes.

uint64_t stratus_mapped_load(const void *address) {
    return __atomic_load_n((const uint64_t *)address, __ATOMIC_ACQUIRE);
}

uint64_t stratus_mapped_raise(void *address, uint64_t number) {
    uint64_t *place = address;
    uint64_t found = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (found < number
           && !__atomic_compare_exchange_n(
               place, &found, number, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    return found;
}

void stratus_mapped_store(void *address, uint64_t number) {
    __atomic_store_n((uint64_t *)address, number, __ATOMIC_RELEASE);
}
