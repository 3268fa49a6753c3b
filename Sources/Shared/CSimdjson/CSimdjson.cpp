// A thin C interface to simdjson's DOM parser. It throws no exceptions: simdjson is used through its error codes, and
// memory, the only other thing that could throw, is allocated with nothrow.

#include "CSimdjson.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include <simdjson.h>

using simdjson::error_code;

struct stratus_json_document {
    simdjson::dom::parser parser;
    // simdjson reads up to SIMDJSON_PADDING bytes past the end, so the body is copied.
    std::unique_ptr<uint8_t[]> padded;
    size_t capacity = 0;
    size_t depth = 0;
};

namespace {

// Parsers are costly to create (their buffers are several times as large as the body), so a few small ones are kept.
constexpr size_t kept_parsers = 4;
constexpr size_t kept_capacity = 512 * 1024;
constexpr size_t least_capacity = 16 * 1024;

std::mutex pool_mutex;
stratus_json_document *pool[kept_parsers];
size_t pool_count = 0;

stratus_json_document *take() {
    {
        std::lock_guard<std::mutex> lock(pool_mutex);
        if (pool_count > 0) { return pool[--pool_count]; }
    }
    return new (std::nothrow) stratus_json_document();
}

bool reserve(stratus_json_document &document, size_t count, size_t depth) {
    if (document.capacity >= count && document.depth == depth) { return true; }
    size_t capacity = least_capacity;
    while (capacity < count && capacity < SIZE_MAX / 2) { capacity *= 2; }
    document.capacity = 0;
    document.padded.reset(new (std::nothrow) uint8_t[capacity + simdjson::SIMDJSON_PADDING]);
    if (!document.padded) { return false; }
    if (document.parser.allocate(capacity, depth) != simdjson::SUCCESS) { return false; }
    if (document.parser.doc.allocate(capacity) != simdjson::SUCCESS) { return false; }
    document.capacity = capacity;
    document.depth = depth;
    return true;
}

stratus_json_status status_of(error_code error) {
    switch (error) {
    case simdjson::SUCCESS: return stratus_json_ok;
    case simdjson::DEPTH_ERROR: return stratus_json_too_deep;
    case simdjson::UTF8_ERROR: return stratus_json_invalid_utf8;
    case simdjson::STRING_ERROR: return stratus_json_invalid_escape;
    case simdjson::NUMBER_ERROR:
    case simdjson::NUMBER_OUT_OF_RANGE: return stratus_json_invalid_number;
    case simdjson::MEMALLOC:
    case simdjson::CAPACITY: return stratus_json_out_of_memory;
    default: return stratus_json_invalid;
    }
}

}  // namespace

stratus_json_status stratus_json_parse(
    const uint8_t *bytes, size_t count, size_t maximum_depth, stratus_json_document **out)
{
    stratus_json_document *document = take();
    if (document == nullptr) { return stratus_json_out_of_memory; }
    if (!reserve(*document, count, maximum_depth)) {
        delete document;
        return stratus_json_out_of_memory;
    }
    if (count > 0) { memcpy(document->padded.get(), bytes, count); }
    memset(document->padded.get() + count, ' ', simdjson::SIMDJSON_PADDING);

    simdjson::dom::element root;
    error_code error =
        document->parser.parse(document->padded.get(), count, false).get(root);
    stratus_json_status status = status_of(error);
    if (status != stratus_json_ok) {
        stratus_json_free(document);
        return status;
    }
    *out = document;
    return stratus_json_ok;
}

const uint64_t *stratus_json_tape(const stratus_json_document *document) {
    return document->parser.doc.tape.get();
}

const uint8_t *stratus_json_strings(const stratus_json_document *document) {
    return document->parser.doc.string_buf.get();
}

void stratus_json_free(stratus_json_document *document) {
    if (document->capacity > 0 && document->capacity <= kept_capacity) {
        std::lock_guard<std::mutex> lock(pool_mutex);
        if (pool_count < kept_parsers) {
            pool[pool_count++] = document;
            return;
        }
    }
    delete document;
}
