#include "CZlib.h"

// The number of the window's bits, and the numbers of the formats, which are added to it.
enum { windowBits = 15, gzip = 16, anyFormat = 32, memoryLevel = 8 };

int stratus_deflate_begin(z_stream *stream, int level) {
    return deflateInit2(
        stream, level, Z_DEFLATED, windowBits + gzip, memoryLevel, Z_DEFAULT_STRATEGY);
}

int stratus_inflate_begin(z_stream *stream) {
    return inflateInit2(stream, windowBits + anyFormat);
}
