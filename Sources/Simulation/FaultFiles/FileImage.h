// What a disk has of a file, and what was written since then without being synchronised.

#ifndef STRATUS_FILE_IMAGE_H
#define STRATUS_FILE_IMAGE_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

// A write or, where `bytes` is null, a change of size to `offset`.
typedef struct change {
    struct change *next;
    sqlite3_int64 offset;
    size_t count;
    unsigned char *bytes;
} change;

// What the disk has of a file, and the changes since then that were not synchronised.
typedef struct image {
    struct image *next;
    char *path;
    unsigned char *bytes;
    size_t count;
    change *first;
    change *last;
    // Whether the name is on the disk, and whether the file was deleted since.
    int is_named;
    int is_deleted;
} image;

// Ends the process if memory could not be allocated.
void fault_must(const void *memory);

// A random number; the state is a seed at the beginning.
uint64_t fault_draw(uint64_t *state);

// The image of the file at a path; NULL if there is none in the list.
image *fault_image_find(image *first, const char *path);

// Adds the image of a file that is not on the disk to a list.
image *fault_image_add(image **first, const char *path);

// Removes the content and the changes.
void fault_image_empty(image *image);

// Notes a write or, if `bytes` is null, a change of size to `offset`.
void fault_image_note(image *image, sqlite3_int64 offset, const void *bytes, size_t count);

// Moves all changes to the disk.
void fault_image_synchronise(image *image);

// Puts the names of the files in a list, and their removals, on the disk.
void fault_image_synchronise_names(image *first);

void fault_image_forget_changes(image *image);

// Gives the file on the disk another size; new bytes are 0.
void fault_image_resize(image *image, size_t count);

// The bytes that are on the disk, in memory for the caller to free. With a random state, each change is also kept, lost
// or torn at a sector.
unsigned char *fault_image_copy(const image *image, uint64_t *random_state, size_t *count);

#endif
