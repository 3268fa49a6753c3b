// Files that lose writes, tear them and fail, for tests and simulations: a VFS for SQLite that keeps apart what was
// written but not synchronised yet. Only files below the folders that a test names are kept like this; all others are
// passed to the system's VFS.

#ifndef STRATUS_FAULT_FILES_H
#define STRATUS_FAULT_FILES_H

#include <stddef.h>
#include <stdint.h>

typedef struct fault_folder fault_folder;

// Begins to keep the files below a folder. Files of connections that are already open are not kept.
fault_folder *fault_folder_begin(const char *path);

// Stops keeping them. Connections that are still open continue as with the system's VFS.
void fault_folder_end(fault_folder *folder);

enum fault_kind {
    fault_read = 1,
    fault_write = 2,
    fault_sync = 4,
};

enum fault_error {
    fault_io_error = 0,
    fault_disk_full = 1,
};

// Makes the operations of these kinds fail after `after` that succeed; `kinds` 0 ends this. A failed synchronisation
// drops the writes that waited for it, as Linux does: a later one does not write them.
void fault_folder_fail(fault_folder *folder, unsigned kinds, long after, enum fault_error error);

// Makes synchronisations report success and do nothing, like a disk that lies.
void fault_folder_ignore_syncs(fault_folder *folder, int ignores);

// Calls `body` once, after `after` operations of these kinds and before the next one: there a process ends, or the power
// fails. `kinds` 0 ends this. `body` may call fault_folder_cut and fault_folder_end.
void fault_folder_interrupt(
    fault_folder *folder, unsigned kinds, long after, void *context, void (*body)(void *context));

// The number of operations of these kinds so far.
long fault_folder_count(fault_folder *folder, unsigned kinds);

// The number of statements on connections that were opened below the folder since fault_folder_begin.
long fault_folder_statements(fault_folder *folder);

// Whether the file was opened since fault_folder_begin; a cut reports no other files.
int fault_folder_knows(fault_folder *folder, const char *path);

enum fault_cut {
    // Everything that was not synchronised is lost.
    fault_cut_forgets = 0,
    // Each write is kept, lost or torn at a sector, at random.
    fault_cut_tears = 1,
};

// What a power cut would leave now: calls `body` for each file that would exist.
void fault_folder_cut(
    fault_folder *folder, enum fault_cut cut, uint64_t seed, void *context,
    void (*body)(void *context, const char *path, const void *bytes, size_t count));

#endif
