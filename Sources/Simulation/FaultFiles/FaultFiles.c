#include "FaultFiles.h"
#include "FileImage.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct fault_folder {
    struct fault_folder *next;
    char *path;
    image *images;
    unsigned kinds;
    long remaining;
    enum fault_error error;
    int ignores_syncs;
    unsigned interrupted_kinds;
    long until_interrupt;
    void *context;
    void (*interrupt)(void *context);
    long counts[8];
    long statements;
};

typedef struct fault_file {
    sqlite3_file base;
    fault_folder *folder;
    image *image;
    int is_log;
    sqlite3_file *real;
} fault_file;

// Protects everything below, and every folder and image. Folders and images are not freed while a file may refer to
// them: tests are few and small.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static fault_folder *folders;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs fault_vfs;

// Whether an operation fails now.
static int fails(fault_folder *folder, unsigned kind) {
    if (!folder) { return 0; }
    folder->counts[kind] += 1;
    if (!(folder->kinds & kind)) { return 0; }
    if (folder->remaining > 0) {
        folder->remaining -= 1;
        return 0;
    }
    return 1;
}

// Calls the body that waits for this operation, without holding `guard`, because the body calls functions of this file.
static void interrupt(fault_folder *folder, unsigned kind) {
    void (*body)(void *context) = NULL;
    void *context = NULL;
    pthread_mutex_lock(&guard);
    if (folder && folder->interrupted_kinds & kind) {
        if (folder->until_interrupt > 0) {
            folder->until_interrupt -= 1;
        } else {
            folder->interrupted_kinds = 0;
            body = folder->interrupt;
            context = folder->context;
        }
    }
    pthread_mutex_unlock(&guard);
    if (body) { body(context); }
}

static int file_close(sqlite3_file *base) {
    fault_file *file = (fault_file *)base;
    int code = file->real->pMethods->xClose(file->real);
    free(file->real);
    return code;
}

static int file_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
    fault_file *file = (fault_file *)base;
    pthread_mutex_lock(&guard);
    int failed = fails(file->folder, fault_read);
    pthread_mutex_unlock(&guard);
    if (failed) { return SQLITE_IOERR_READ; }
    return file->real->pMethods->xRead(file->real, bytes, count, offset);
}

static int file_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
    fault_file *file = (fault_file *)base;
    interrupt(file->folder, fault_write);
    pthread_mutex_lock(&guard);
    int code;
    if (fails(file->folder, fault_write)) {
        code = file->folder->error == fault_disk_full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    } else {
        code = file->real->pMethods->xWrite(file->real, bytes, count, offset);
        if (code == SQLITE_OK) { fault_image_note(file->image, offset, bytes, (size_t)count); }
    }
    pthread_mutex_unlock(&guard);
    return code;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
    fault_file *file = (fault_file *)base;
    pthread_mutex_lock(&guard);
    int code = file->real->pMethods->xTruncate(file->real, size);
    if (code == SQLITE_OK) { fault_image_note(file->image, size, NULL, 0); }
    pthread_mutex_unlock(&guard);
    return code;
}

static int file_sync(sqlite3_file *base, int flags) {
    fault_file *file = (fault_file *)base;
    interrupt(file->folder, fault_sync);
    pthread_mutex_lock(&guard);
    int code = SQLITE_OK;
    if (fails(file->folder, fault_sync)) {
        fault_image_forget_changes(file->image);
        code = SQLITE_IOERR_FSYNC;
    } else if (file->folder && file->folder->ignores_syncs) {
        // Reports success without synchronising.
    } else {
        fault_image_synchronise(file->image);
        // When a log is synchronised, so are the names in its folder.
        if (file->is_log && file->folder) { fault_image_synchronise_names(file->folder->images); }
    }
    pthread_mutex_unlock(&guard);
    (void)flags;
    return code;
}

// Everything else is passed to the system's VFS.

#define REAL(base) (((fault_file *)(base))->real)

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
    return REAL(base)->pMethods->xFileSize(REAL(base), size);
}
static int file_lock(sqlite3_file *base, int lock) {
    return REAL(base)->pMethods->xLock(REAL(base), lock);
}
static int file_unlock(sqlite3_file *base, int lock) {
    return REAL(base)->pMethods->xUnlock(REAL(base), lock);
}
static int file_check_lock(sqlite3_file *base, int *result) {
    return REAL(base)->pMethods->xCheckReservedLock(REAL(base), result);
}
static int file_control(sqlite3_file *base, int operation, void *argument) {
    return REAL(base)->pMethods->xFileControl(REAL(base), operation, argument);
}
static int file_sector_size(sqlite3_file *base) {
    return REAL(base)->pMethods->xSectorSize(REAL(base));
}
static int file_characteristics(sqlite3_file *base) {
    // The guarantees of the system's disk do not hold for this one.
    (void)base;
    return 0;
}
static int file_shm_map(
    sqlite3_file *base, int page, int size, int extends, void volatile **memory) {
    return REAL(base)->pMethods->xShmMap(REAL(base), page, size, extends, memory);
}
static int file_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
    return REAL(base)->pMethods->xShmLock(REAL(base), offset, count, flags);
}
static void file_shm_barrier(sqlite3_file *base) {
    REAL(base)->pMethods->xShmBarrier(REAL(base));
}
static int file_shm_unmap(sqlite3_file *base, int deletes) {
    return REAL(base)->pMethods->xShmUnmap(REAL(base), deletes);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static fault_folder *folder_of(const char *path) {
    if (!path) { return NULL; }
    for (fault_folder *folder = folders; folder; folder = folder->next) {
        size_t count = strlen(folder->path);
        if (strncmp(path, folder->path, count) == 0 && path[count] == '/') { return folder; }
    }
    return NULL;
}

// The contents of a file that existed before it was first opened count as being on the disk.
static void take_contents(image *image, sqlite3_file *real) {
    sqlite3_int64 size = 0;
    if (real->pMethods->xFileSize(real, &size) != SQLITE_OK || size == 0) { return; }
    fault_image_resize(image, (size_t)size);
    if (real->pMethods->xRead(real, image->bytes, (int)size, 0) != SQLITE_OK) { abort(); }
    image->is_named = 1;
}

static image *image_of(fault_folder *folder, const char *path, sqlite3_file *real) {
    image *found = fault_image_find(folder->images, path);
    if (found && !found->is_deleted) { return found; }
    if (found) {
        // Recreated after it was deleted: the older file is gone.
        fault_image_empty(found);
        found->is_deleted = 0;
        found->is_named = 0;
        return found;
    }
    found = fault_image_add(&folder->images, path);
    take_contents(found, real);
    return found;
}

static int vfs_open(
    sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out_flags) {
    (void)vfs;
    int kinds = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
    pthread_mutex_lock(&guard);
    fault_folder *folder = flags & kinds ? folder_of(path) : NULL;
    if (!folder) {
        pthread_mutex_unlock(&guard);
        return real_vfs->xOpen(real_vfs, path, base, flags, out_flags);
    }
    fault_file *file = (fault_file *)base;
    memset(file, 0, sizeof(*file));
    file->real = calloc(1, (size_t)real_vfs->szOsFile);
    fault_must(file->real);
    int code = real_vfs->xOpen(real_vfs, path, file->real, flags, out_flags);
    if (code == SQLITE_OK) {
        file->folder = folder;
        file->image = image_of(folder, path, file->real);
        file->is_log = (flags & SQLITE_OPEN_MAIN_DB) == 0;
        file->base.pMethods = &methods;
    } else {
        if (file->real->pMethods) { file->real->pMethods->xClose(file->real); }
        free(file->real);
    }
    pthread_mutex_unlock(&guard);
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs_names) {
    (void)vfs;
    int code = real_vfs->xDelete(real_vfs, path, syncs_names);
    pthread_mutex_lock(&guard);
    fault_folder *folder = folder_of(path);
    image *image = folder ? fault_image_find(folder->images, path) : NULL;
    if (code == SQLITE_OK && image) {
        image->is_deleted = 1;
        if (syncs_names) { image->is_named = 0; }
    }
    pthread_mutex_unlock(&guard);
    return code;
}

static int note_statement(unsigned event, void *context, void *statement, void *text) {
    (void)event;
    (void)statement;
    (void)text;
    pthread_mutex_lock(&guard);
    ((fault_folder *)context)->statements++;
    pthread_mutex_unlock(&guard);
    return 0;
}

// SQLite calls this for each connection that it opens.
static int watch(sqlite3 *connection, char **message, const struct sqlite3_api_routines *routines) {
    (void)message;
    (void)routines;
    pthread_mutex_lock(&guard);
    fault_folder *folder = folder_of(sqlite3_db_filename(connection, "main"));
    pthread_mutex_unlock(&guard);
    if (!folder) { return SQLITE_OK; }
    return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, note_statement, folder);
}

static void install(void) {
    real_vfs = sqlite3_vfs_find(NULL);
    if (!real_vfs) { abort(); }
    fault_vfs = *real_vfs;
    fault_vfs.pNext = NULL;
    fault_vfs.zName = "stratus-faults";
    if (fault_vfs.szOsFile < (int)sizeof(fault_file)) {
        fault_vfs.szOsFile = (int)sizeof(fault_file);
    }
    fault_vfs.xOpen = vfs_open;
    fault_vfs.xDelete = vfs_delete;
    if (sqlite3_vfs_register(&fault_vfs, 1) != SQLITE_OK) { abort(); }
    if (sqlite3_auto_extension((void (*)(void))watch) != SQLITE_OK) { abort(); }
}

fault_folder *fault_folder_begin(const char *path) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    fault_folder *folder = calloc(1, sizeof(fault_folder));
    fault_must(folder);
    folder->path = strdup(path);
    fault_must(folder->path);
    pthread_mutex_lock(&guard);
    folder->next = folders;
    folders = folder;
    pthread_mutex_unlock(&guard);
    return folder;
}

void fault_folder_end(fault_folder *ended) {
    pthread_mutex_lock(&guard);
    for (fault_folder **place = &folders; *place; place = &(*place)->next) {
        if (*place == ended) {
            *place = ended->next;
            break;
        }
    }
    ended->kinds = 0;
    ended->interrupted_kinds = 0;
    for (image *image = ended->images; image; image = image->next) { fault_image_empty(image); }
    pthread_mutex_unlock(&guard);
}

void fault_folder_fail(fault_folder *folder, unsigned kinds, long after, enum fault_error error) {
    pthread_mutex_lock(&guard);
    folder->kinds = kinds;
    folder->remaining = after;
    folder->error = error;
    pthread_mutex_unlock(&guard);
}

void fault_folder_interrupt(
    fault_folder *folder, unsigned kinds, long after, void *context, void (*body)(void *context)) {
    pthread_mutex_lock(&guard);
    folder->interrupted_kinds = kinds;
    folder->until_interrupt = after;
    folder->context = context;
    folder->interrupt = body;
    pthread_mutex_unlock(&guard);
}

void fault_folder_ignore_syncs(fault_folder *folder, int ignores) {
    pthread_mutex_lock(&guard);
    folder->ignores_syncs = ignores;
    pthread_mutex_unlock(&guard);
}

long fault_folder_count(fault_folder *folder, unsigned kinds) {
    long count = 0;
    pthread_mutex_lock(&guard);
    for (unsigned kind = fault_read; kind <= fault_sync; kind <<= 1) {
        if (kinds & kind) { count += folder->counts[kind]; }
    }
    pthread_mutex_unlock(&guard);
    return count;
}

long fault_folder_statements(fault_folder *folder) {
    pthread_mutex_lock(&guard);
    long count = folder->statements;
    pthread_mutex_unlock(&guard);
    return count;
}

int fault_folder_knows(fault_folder *folder, const char *path) {
    pthread_mutex_lock(&guard);
    int knows = fault_image_find(folder->images, path) != NULL;
    pthread_mutex_unlock(&guard);
    return knows;
}

void fault_folder_cut(
    fault_folder *folder, enum fault_cut cut, uint64_t seed, void *context,
    void (*body)(void *context, const char *path, const void *bytes, size_t count)) {
    pthread_mutex_lock(&guard);
    for (image *image = folder->images; image; image = image->next) {
        int is_certain = image->is_named && !image->is_deleted;
        if (!image->is_named && image->is_deleted) { continue; }
        if (!is_certain) {
            // A name that was added or removed and not synchronised.
            int is_there = cut == fault_cut_tears ? (int)(fault_draw(&seed) % 2) : image->is_named;
            if (!is_there) { continue; }
        }
        size_t count = 0;
        unsigned char *bytes =
            fault_image_copy(image, cut == fault_cut_tears ? &seed : NULL, &count);
        body(context, image->path, bytes, count);
        free(bytes);
    }
    pthread_mutex_unlock(&guard);
}
