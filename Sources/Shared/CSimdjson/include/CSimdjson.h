#ifndef STRATUS_CSIMDJSON_H
#define STRATUS_CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A parsed document: simdjson's tape and string buffer, and the parser that owns them.
///
/// Both have simdjson's own format, which its doc/tape.md describes.
typedef struct stratus_json_document stratus_json_document;

typedef enum {
    stratus_json_ok = 0,
    stratus_json_invalid,
    stratus_json_too_deep,
    stratus_json_invalid_utf8,
    stratus_json_invalid_number,
    stratus_json_invalid_escape,
    stratus_json_out_of_memory,
} stratus_json_status;

/// Parses `count` bytes, which need no padding, and sets `document` if they are valid.
///
/// Throws nothing. The document is valid until `stratus_json_free`, and is used by one thread at a time.
stratus_json_status stratus_json_parse(
    const uint8_t *bytes, size_t count, size_t maximum_depth, stratus_json_document **document);

/// The tape's 64-bit words. Word 0 is the root.
const uint64_t *stratus_json_tape(const stratus_json_document *document);

/// The strings: for each, its length in four bytes in the machine's order, its UTF-8, and a NUL.
const uint8_t *stratus_json_strings(const stratus_json_document *document);

/// Frees the document; its parser may be used for the next one.
void stratus_json_free(stratus_json_document *document);

#ifdef __cplusplus
}
#endif

#endif
