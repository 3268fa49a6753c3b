// Functions for what zlib declares as macros, which Swift does not import.

#ifndef STRATUS_CZLIB_H
#define STRATUS_CZLIB_H

#include <zlib.h>

// Begins to compress in the format gzip.
int stratus_deflate_begin(z_stream *stream, int level);

// Begins to decompress gzip or zlib, as the first bytes say.
int stratus_inflate_begin(z_stream *stream);

#endif
