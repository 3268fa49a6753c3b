#include "FileImage.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR 512

void fault_must(const void *memory) {
    if (!memory) { abort(); }
}

void fault_image_forget_changes(image *image) {
    while (image->first) {
        change *gone = image->first;
        image->first = gone->next;
        free(gone->bytes);
        free(gone);
    }
    image->last = NULL;
}

image *fault_image_find(image *first, const char *path) {
    for (image *image = first; image; image = image->next) {
        if (strcmp(image->path, path) == 0) { return image; }
    }
    return NULL;
}

image *fault_image_add(image **first, const char *path) {
    image *added = calloc(1, sizeof(image));
    fault_must(added);
    added->path = strdup(path);
    fault_must(added->path);
    added->next = *first;
    *first = added;
    return added;
}

void fault_image_empty(image *image) {
    fault_image_forget_changes(image);
    free(image->bytes);
    image->bytes = NULL;
    image->count = 0;
}

static void resize(unsigned char **bytes, size_t *count, size_t wanted) {
    if (wanted > *count) {
        *bytes = realloc(*bytes, wanted);
        fault_must(*bytes);
        memset(*bytes + *count, 0, wanted - *count);
    }
    *count = wanted;
}

static void apply(
    unsigned char **bytes, size_t *count, sqlite3_int64 offset, const unsigned char *written,
    size_t length) {
    if (length == 0) { return; }
    if (*count < (size_t)offset + length) { resize(bytes, count, (size_t)offset + length); }
    memcpy(*bytes + offset, written, length);
}

void fault_image_note(image *image, sqlite3_int64 offset, const void *bytes, size_t count) {
    change *added = calloc(1, sizeof(change));
    fault_must(added);
    added->offset = offset;
    added->count = count;
    if (bytes) {
        added->bytes = malloc(count + 1);
        fault_must(added->bytes);
        memcpy(added->bytes, bytes, count);
    }
    if (image->last) {
        image->last->next = added;
    } else {
        image->first = added;
    }
    image->last = added;
}

void fault_image_resize(image *image, size_t count) {
    resize(&image->bytes, &image->count, count);
}

static void apply_whole(unsigned char **bytes, size_t *count, const change *change) {
    if (change->bytes) {
        apply(bytes, count, change->offset, change->bytes, change->count);
    } else {
        resize(bytes, count, (size_t)change->offset);
    }
}

void fault_image_synchronise(image *image) {
    for (change *change = image->first; change; change = change->next) {
        apply_whole(&image->bytes, &image->count, change);
    }
    fault_image_forget_changes(image);
}

void fault_image_synchronise_names(image *first) {
    for (image *image = first; image; image = image->next) {
        image->is_named = !image->is_deleted;
    }
}

// SplitMix64.
uint64_t fault_draw(uint64_t *state) {
    uint64_t mixed = *state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
}

static void apply_torn(unsigned char **bytes, size_t *count, const change *change, uint64_t *state) {
    if (!change->bytes) {
        if (fault_draw(state) % 2) { resize(bytes, count, (size_t)change->offset); }
        return;
    }
    switch (fault_draw(state) % 3) {
    case 0: return;
    case 1: apply(bytes, count, change->offset, change->bytes, change->count); return;
    default: break;
    }
    // Each sector is written or not, because a disk may write them in any order.
    for (size_t start = 0; start < change->count;) {
        size_t end = start + SECTOR - (size_t)(change->offset + (sqlite3_int64)start) % SECTOR;
        if (end > change->count) { end = change->count; }
        if (fault_draw(state) % 2) {
            apply(
                bytes, count, change->offset + (sqlite3_int64)start, change->bytes + start,
                end - start);
        }
        start = end;
    }
}

unsigned char *fault_image_copy(const image *image, uint64_t *random_state, size_t *count) {
    unsigned char *bytes = NULL;
    *count = 0;
    resize(&bytes, count, image->count);
    if (image->count > 0) { memcpy(bytes, image->bytes, image->count); }
    if (random_state) {
        for (change *change = image->first; change; change = change->next) {
            apply_torn(&bytes, count, change, random_state);
        }
    }
    return bytes;
}
