// zlib as Swift can see it: what it begins with are macros there.

#ifndef STRATUS_CZLIB_H
#define STRATUS_CZLIB_H

#include <zlib.h>

// Begins to compress into the format gzip.
int stratus_deflate_begin(z_stream *stream, int level);

// Begins to inflate gzip or zlib, whichever comes.
int stratus_inflate_begin(z_stream *stream);

#endif
