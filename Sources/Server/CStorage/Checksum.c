#include "CStorage.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#endif

static uint64_t little_endian(uint64_t number) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(number);
#else
    return number;
#endif
}

// Castagnoli's polynomial with its bits reversed.
#define POLYNOMIAL 0x82F63B78u

uint32_t stratus_crc32c_by_table(uint32_t checksum, const void *bytes, size_t count) {
    // Filled at each call, which takes half a microsecond, only on machines without the instruction.
    uint32_t table[256];
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t entry = byte;
        for (int bit = 0; bit < 8; bit++) {
            entry = (entry >> 1) ^ ((entry & 1) ? POLYNOMIAL : 0);
        }
        table[byte] = entry;
    }
    const unsigned char *next = bytes;
    checksum = ~checksum;
    while (count-- > 0) { checksum = (checksum >> 8) ^ table[(checksum ^ *next++) & 0xFF]; }
    return ~checksum;
}

#if defined(__x86_64__)

static int has_instruction(void) {
    unsigned int a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}

#define BY_INSTRUCTION __attribute__((target("sse4.2")))
#define STEP_64(checksum, number) ((uint32_t)_mm_crc32_u64((checksum), (number)))
#define STEP_8(checksum, byte) (_mm_crc32_u8((checksum), (byte)))

#elif defined(__aarch64__)

static int has_instruction(void) {
#if defined(__ARM_FEATURE_CRC32)
    return 1;
#elif defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#else
    return 0;
#endif
}

#define BY_INSTRUCTION __attribute__((target("crc")))
#define STEP_64(checksum, number) (__crc32cd((checksum), (number)))
#define STEP_8(checksum, byte) (__crc32cb((checksum), (byte)))

#endif

#if defined(BY_INSTRUCTION)

// The functions that call this one invert the checksum before and after it.
BY_INSTRUCTION static inline uint32_t steps(uint32_t checksum, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t number;
        memcpy(&number, next, 8);
        checksum = STEP_64(checksum, number);
    }
    for (; count > 0; count--) { checksum = STEP_8(checksum, *next++); }
    return checksum;
}

BY_INSTRUCTION static uint32_t by_instruction(uint32_t checksum, const void *bytes, size_t count) {
    return ~steps(~checksum, bytes, count);
}

BY_INSTRUCTION static uint32_t number_by_instruction(uint32_t checksum, uint64_t number) {
    return ~STEP_64(~checksum, number);
}

BY_INSTRUCTION static uint32_t counted_by_instruction(
    uint32_t checksum, const void *bytes, size_t count) {
    return ~steps(STEP_64(~checksum, (uint64_t)count), bytes, count);
}

// Whether the processor has the instruction: 0 not known yet, 1 no, 2 yes. Threads that find out at the same time
// get the same answer.
static int looked;

static int is_known(void) {
    int found = __atomic_load_n(&looked, __ATOMIC_RELAXED);
    if (found == 0) {
        found = has_instruction() ? 2 : 1;
        __atomic_store_n(&looked, found, __ATOMIC_RELAXED);
    }
    return found == 2;
}

uint32_t stratus_crc32c(uint32_t checksum, const void *bytes, size_t count) {
    if (is_known()) { return by_instruction(checksum, bytes, count); }
    return stratus_crc32c_by_table(checksum, bytes, count);
}

uint32_t stratus_crc32c_number(uint32_t checksum, uint64_t number) {
    if (is_known()) { return number_by_instruction(checksum, number); }
    number = little_endian(number);
    return stratus_crc32c_by_table(checksum, &number, sizeof(number));
}

uint32_t stratus_crc32c_counted(uint32_t checksum, const void *bytes, size_t count) {
    if (is_known()) { return counted_by_instruction(checksum, bytes, count); }
    checksum = stratus_crc32c_number(checksum, count);
    return stratus_crc32c_by_table(checksum, bytes, count);
}

#else

uint32_t stratus_crc32c(uint32_t checksum, const void *bytes, size_t count) {
    return stratus_crc32c_by_table(checksum, bytes, count);
}

uint32_t stratus_crc32c_number(uint32_t checksum, uint64_t number) {
    number = little_endian(number);
    return stratus_crc32c_by_table(checksum, &number, sizeof(number));
}

uint32_t stratus_crc32c_counted(uint32_t checksum, const void *bytes, size_t count) {
    checksum = stratus_crc32c_number(checksum, count);
    return stratus_crc32c_by_table(checksum, bytes, count);
}

#endif
