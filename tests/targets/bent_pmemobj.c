/* A shim between the adapter `pmemobj` and libpmemobj, which HBMSTRESS_REAL_LIBRARY names. Compiled
 * with one of the BEND_... it has a defect; without one it passes everything through.  One thread
 * calls it. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The adapter finds the functions by their names; nobody has declarations of them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { DEFECT_PERIOD = 64, LEAK_PERIOD = 4 };

struct oid {
    uint64_t pool, offset;
};
struct defrag_result {
    size_t looked_at, moved;
};

static struct {
    void *(*create)(const char *path, const char *layout, size_t bytes, unsigned mode);
    void (*close)(void *pool);
    int (*allocate)(void *pool, struct oid *oid, size_t bytes, uint64_t type, void *construct,
                    void *argument);
    void (*free)(struct oid *oid);
    size_t (*usable)(struct oid oid);
    int (*defragment)(void *pool, struct oid **oids, size_t count, struct defrag_result *result);
} real;

#if defined BEND_OVERLAP
/* The block that was allocated last, and the one that is the same memory. */
static struct oid last, doubled;
#endif
#if defined BEND_LEAK
static unsigned free_count;
#endif
#if defined BEND_PREMATURE || defined BEND_OVERLAP || defined BEND_LARGE
static unsigned request_count;
#endif

static void find(void *handle, const char *name, void *place)
{
    void *const found = handle == NULL ? NULL : dlsym(handle, name);
    memcpy(place, &found, sizeof found);
}

__attribute__((constructor)) static void find_all(void)
{
    const char *path = getenv("HBMSTRESS_REAL_LIBRARY");
    void *handle = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    find(handle, "pmemobj_create", &real.create);
    find(handle, "pmemobj_close", &real.close);
    find(handle, "pmemobj_alloc", &real.allocate);
    find(handle, "pmemobj_free", &real.free);
    find(handle, "pmemobj_alloc_usable_size", &real.usable);
    find(handle, "pmemobj_defrag", &real.defragment);
}

void *pmemobj_create(const char *path, const char *layout, size_t bytes, unsigned mode)
{
    return real.create(path, layout, bytes, mode);
}

void pmemobj_close(void *pool)
{
#if defined BEND_OVERLAP
    last = doubled = (struct oid){0};
#endif
    real.close(pool);
}

int pmemobj_alloc(void *pool, struct oid *oid, size_t bytes, uint64_t type, void *construct,
                  void *argument)
{
#if defined BEND_PREMATURE || defined BEND_OVERLAP || defined BEND_LARGE
    const int is_due = ++request_count % DEFECT_PERIOD == 0;
#endif
#if defined BEND_PREMATURE
    if (is_due) {
        errno = ENOMEM;
        return -1;
    }
#elif defined BEND_OVERLAP
    if (is_due && last.offset != 0 && doubled.offset == 0 && bytes <= real.usable(last)) {
        doubled = *oid = last;
        return 0;
    }
#elif defined BEND_LARGE
    bytes += is_due ? (size_t)1 << 20 : 0;
#endif
    const int error = real.allocate(pool, oid, bytes, type, construct, argument);
#if defined BEND_OVERLAP
    if (error == 0 && doubled.offset == 0) {
        last = *oid;
    }
#endif
    return error;
}

void pmemobj_free(struct oid *oid)
{
#if defined BEND_LEAK
    if (++free_count % LEAK_PERIOD == 0) {
        return;
    }
#endif
#if defined BEND_OVERLAP
    if (oid->offset == doubled.offset) { /* one of the two is still there */
        doubled = (struct oid){0};
        return;
    }
    last = oid->offset == last.offset ? (struct oid){0} : last;
#endif
    real.free(oid);
}

size_t pmemobj_alloc_usable_size(struct oid oid)
{
    return real.usable(oid);
}

/* Bent, a block that is moved loses its first byte. */
int pmemobj_defrag(void *pool, struct oid **oids, size_t count, struct defrag_result *result)
{
#if defined BEND_MOVES
    struct oid *before = malloc(count * sizeof *before);
    for (size_t i = 0; before != NULL && i < count; i++) {
        before[i] = *oids[i];
    }
    const int error = real.defragment(pool, oids, count, result);
    for (size_t i = 0; before != NULL && i < count; i++) {
        if (before[i].offset != oids[i]->offset) {
            memset((char *)pool + oids[i]->offset, 0, 1);
        }
    }
    free(before);
    return error;
#else
    return real.defragment(pool, oids, count, result);
#endif
}
