// Files that forget, tear and fail, for tests and simulations: a VFS of SQLite's that keeps apart what was written and
// not yet synchronised. Only files below the folders that a test names are kept so; all others go
// straight to the system's VFS.

#ifndef STRATUS_FAULT_FILES_H
#define STRATUS_FAULT_FILES_H

#include <stddef.h>
#include <stdint.h>

typedef struct fault_folder fault_folder;

// Begins to keep the files below a folder. Files of connections that are open already are not kept.
fault_folder *fault_folder_begin(const char *path);

// Ends it. Connections that are still open go on as with the system's VFS.
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

// Lets the operations of these kinds fail, after so many that succeed. `kinds` 0 ends it. A failed
// synchronisation takes what waited for it away, as Linux does: a later one does not make up for it.
void fault_folder_fail(fault_folder *folder, unsigned kinds, long after, enum fault_error error);

// Lets synchronisations say that they are done and do nothing: a disk that lies.
void fault_folder_ignore_syncs(fault_folder *folder, int ignores);

// Calls `body` once, before the operation of these kinds that comes after so many others: where a process
// ends, or the power. `kinds` 0 ends it. `body` may cut the folder, and end it.
void fault_folder_interrupt(
    fault_folder *folder, unsigned kinds, long after, void *context, void (*body)(void *context));

// How many operations of these kinds there were.
long fault_folder_count(fault_folder *folder, unsigned kinds);

// How many statements were run on connections that were opened below the folder since it was begun.
long fault_folder_statements(fault_folder *folder);

// Whether a file was opened below the folder since it was begun; of others a cut says nothing.
int fault_folder_knows(fault_folder *folder, const char *path);

enum fault_cut {
    // Nothing that was not synchronised is kept.
    fault_cut_forgets = 0,
    // Each write is kept, forgotten or torn at a sector, at random.
    fault_cut_tears = 1,
};

// What a power cut would leave now: `body` is called for each file that would be there.
void fault_folder_cut(
    fault_folder *folder, enum fault_cut cut, uint64_t seed, void *context,
    void (*body)(void *context, const char *path, const void *bytes, size_t count));

#endif
