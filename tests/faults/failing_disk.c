/* Library for LD_PRELOAD: makes the disk of the process fail while files exist in the directory $FAILING_DISK.
 *
 * "writes": writes and syncs return EIO. A commit that has begun to write ends first, so that the commit that fails is not
 * on the disk.
 * "syncs": syncs return EIO after a commit has been written, so that the commit that fails is on the disk.
 * "sync": the same for one sync, which deletes the file.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

/* Whether there are writes since the last sync. */
static atomic_int has_written;
static atomic_int is_failing;

static const char *path_of(const char *name, char *path) {
    snprintf(path, PATH_MAX, "%s/%s", getenv("FAILING_DISK"), name);
    return path;
}

/* Returns -1 with EIO if this call fails. */
static int check(void) {
    char path[PATH_MAX];
    if (access(path_of("writes", path), F_OK) != 0)
        is_failing = 0;
    else if (!has_written)
        is_failing = 1;
    if (!is_failing)
        return 0;
    errno = EIO;
    return -1;
}

static int sync_with(const char *function, int file) {
    char path[PATH_MAX];
    if (check() != 0)
        return -1;
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, function);
    int result = next(file);
    if (has_written && (access(path_of("syncs", path), F_OK) == 0 || unlink(path_of("sync", path)) == 0)) {
        errno = EIO;
        result = -1;
    }
    has_written = 0;
    return result;
}

int fsync(int file) { return sync_with("fsync", file); }

int fdatasync(int file) { return sync_with("fdatasync", file); }

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    if (check() != 0)
        return -1;
    has_written = 1;
    ssize_t (*next)(int, const void *, size_t, off64_t) =
        (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    return next(file, bytes, count, offset);
}
