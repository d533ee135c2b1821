/* A stand-in for the library of the CUDA driver, so that the adapter cuda:pool can be tested
 * without a GPU.  Its pool counts bytes in units of 512 and nothing else, and its device is this
 * process: what it does is no result about CUDA.  Compiled with one of the BEND_... it has a
 * defect; without one it is sound.  One thread calls it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The adapter finds the functions by their names; nobody has declarations of them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum result { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100 };
enum { UNIT_BYTES = 512, DEFECT_PERIOD = 64, DEFECTS_IN_A_ROW = 3, LEAK_PERIOD = 4 };
enum attribute {
    ATTRIBUTE_RESERVED = 5,
    ATTRIBUTE_RESERVED_HIGH,
    ATTRIBUTE_USED,
    ATTRIBUTE_USED_HIGH
};

struct location {
    int type, id;
};
struct properties {
    int allocation_type, handle_types;
    struct location location;
    void *security;
    size_t size_bytes_max;
    unsigned char reserved[56];
};

struct pool {
    uint64_t limit_bytes, free_bytes, used_bytes, used_bytes_high;
    unsigned request_count, free_count;
};

/* Stands in the unit before the memory of the block. */
struct block {
    struct pool *pool;
    uint64_t bytes;
    uint64_t queued_bytes; /* of a dying one: what no later block of its stream has taken */
};

struct event {
    unsigned pending_count; /* records that no stream has reached */
};

enum work_kind { WORK_WAIT, WORK_FREE, WORK_RECORD, WORK_COPY };
struct work {
    struct work *next;
    enum work_kind kind;
    const volatile uint32_t *flag;
    uint32_t value;
    struct block *block;
    struct event *event;
    void *to;
    const void *from;
    size_t bytes;
};
struct stream {
    struct stream *next; /* of all */
    struct work *first, **end;
};
static struct stream *streams;
static int is_initialized;

/* --- blocks --- */

static struct block *find_block(uint64_t address)
{
    return (struct block *)(uintptr_t)(address - UNIT_BYTES);
}

static void end_block(struct block *block)
{
    struct pool *pool = block->pool;
    uint64_t bytes = block->queued_bytes;
#ifdef BEND_LEAK
    bytes = ++pool->free_count % LEAK_PERIOD == 0 ? 0 : bytes;
#endif
    pool->free_bytes += bytes;
    free(block);
}

/* --- streams --- */

static int is_reached(const struct work *work)
{
    return work->kind != WORK_WAIT || *work->flag >= work->value;
}

static void do_work(const struct work *work)
{
    if (work->kind == WORK_FREE) {
        end_block(work->block);
    } else if (work->kind == WORK_RECORD) {
        work->event->pending_count--;
    } else if (work->kind == WORK_COPY) {
        memcpy(work->to, work->from, work->bytes);
    }
}

static void advance(struct stream *stream)
{
    while (stream->first != NULL && is_reached(stream->first)) {
        struct work *work = stream->first;
        stream->first = work->next;
        if (stream->first == NULL) {
            stream->end = &stream->first;
        }
        do_work(work);
        free(work);
    }
}

static void advance_all(void)
{
    for (struct stream *stream = streams; stream != NULL; stream = stream->next) {
        advance(stream);
    }
}

static int add_work(struct stream *stream, struct work made)
{
    struct work *work = malloc(sizeof *work);
    if (work == NULL) {
        return OUT_OF_MEMORY;
    }
    *work = made;
    work->next = NULL;
    *stream->end = work;
    stream->end = &work->next;
    advance(stream);
    return OK;
}

/* Where the test raises no flag it ends at its time limit, as the driver would. */
static void pause_shortly(void)
{
    const struct timespec pause = {.tv_nsec = 100000};
    (void)nanosleep(&pause, NULL);
    advance_all();
}

/* --- the pool --- */

static uint64_t sum_queued(const struct stream *stream, const struct pool *pool)
{
    uint64_t sum = 0;
    for (const struct work *work = stream->first; work != NULL; work = work->next) {
        sum += work->kind == WORK_FREE && work->block->pool == pool ? work->block->queued_bytes : 0;
    }
    return sum;
}

/* Takes up to bytes of what is queued, and returns how many. */
static uint64_t take_queued(struct stream *stream, const struct pool *pool, uint64_t bytes)
{
    uint64_t taken = 0;
    for (struct work *work = stream->first; work != NULL && taken < bytes; work = work->next) {
        if (work->kind == WORK_FREE && work->block->pool == pool) {
            const uint64_t left = bytes - taken, queued = work->block->queued_bytes;
            const uint64_t part = left < queued ? left : queued;
            work->block->queued_bytes -= part;
            taken += part;
        }
    }
    return taken;
}

/* Memory of the stream's own queued frees first. */
static int take_bytes(struct pool *pool, struct stream *stream, uint64_t bytes)
{
#ifdef BEND_PREMATURE
    if (++pool->request_count % DEFECT_PERIOD < DEFECTS_IN_A_ROW) {
        return 0;
    }
#endif
    uint64_t queued = sum_queued(stream, pool);
#ifdef BEND_FORGETS
    queued = 0;
#endif
    if (bytes <= pool->free_bytes + queued) {
        pool->free_bytes -= bytes - (queued == 0 ? 0 : take_queued(stream, pool, bytes));
        return 1;
    }
#ifdef BEND_FOREIGN
    for (struct stream *other = streams; other != NULL; other = other->next) {
        if (bytes <= sum_queued(other, pool)) {
            (void)take_queued(other, pool, bytes);
            return 1;
        }
    }
#endif
    return 0;
}

/* --- the driver's functions --- */

int cuInit(unsigned flags)
{
    if (getenv("FAKE_CUDA_NO_DEVICE") != NULL) {
        return NO_DEVICE;
    }
    if (getenv("FAKE_CUDA_CRASHES") != NULL) {
        abort();
    }
    while (getenv("FAKE_CUDA_HANGS") != NULL) {
        (void)pause();
    }
    is_initialized = flags == 0;
    return OK;
}

int cuDeviceGet(int *device, int index)
{
    *device = index;
    return is_initialized ? OK : NOT_INITIALIZED;
}

int cuDriverGetVersion(int *version)
{
    *version = 12040;
    return OK;
}

int cuDeviceGetCount(int *count)
{
    *count = is_initialized;
    return is_initialized ? OK : NOT_INITIALIZED;
}

/* A name that would change the colour of a terminal. */
int cuDeviceGetName(char *name, int bytes, int device)
{
    static const char whole[] = "Fake \033[31mGPU";
    if (device != 0 || (size_t)bytes < sizeof whole) {
        return INVALID_VALUE;
    }
    memcpy(name, whole, sizeof whole);
    return OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)3 << 30;
    return device == 0 ? OK : INVALID_VALUE;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = device == 0 && attribute > 0;
    return OK;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &is_initialized;
    return device == 0 ? OK : INVALID_VALUE;
}

int cuCtxSetCurrent(void *context)
{
    return context == &is_initialized ? OK : INVALID_VALUE;
}

int cuGetErrorName(int error, const char **name)
{
    *name = error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
                                   : "CUDA_ERROR_OF_THE_STAND_IN";
    return OK;
}

int cuMemPoolCreate(void **out, const struct properties *properties)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        return OUT_OF_MEMORY;
    }
    pool->limit_bytes = pool->free_bytes = properties->size_bytes_max / UNIT_BYTES * UNIT_BYTES;
    *out = pool;
    return OK;
}

int cuMemPoolDestroy(struct pool *pool)
{
    free(pool);
    return OK;
}

int cuMemPoolSetAttribute(struct pool *pool, int attribute, const void *value)
{
    return pool != NULL && value != NULL && attribute < ATTRIBUTE_RESERVED ? OK : INVALID_VALUE;
}

int cuMemPoolGetAttribute(struct pool *pool, int attribute, void *value)
{
    uint64_t shown = pool->used_bytes_high;
    advance_all();
    if (attribute == ATTRIBUTE_USED) {
        shown = pool->used_bytes;
    } else if (attribute < ATTRIBUTE_USED) {
        shown = pool->limit_bytes;
    }
    memcpy(value, &shown, sizeof shown);
    return OK;
}

int cuMemPoolTrimTo(struct pool *pool, size_t bytes)
{
    (void)bytes;
    return pool != NULL ? OK : INVALID_VALUE;
}

int cuMemAllocFromPoolAsync(uint64_t *address, size_t size_bytes, struct pool *pool,
                            struct stream *stream)
{
    advance_all();
    if (size_bytes == 0) {
        return INVALID_VALUE;
    }
    const uint64_t bytes = (size_bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    if (bytes > pool->limit_bytes || !take_bytes(pool, stream, bytes)) {
        return OUT_OF_MEMORY;
    }
    struct block *block = aligned_alloc(UNIT_BYTES, UNIT_BYTES + bytes);
    if (block == NULL) {
        abort(); /* of this machine, not of the device */
    }
    *block = (struct block){.pool = pool, .bytes = bytes};
    pool->used_bytes += bytes;
    if (pool->used_bytes > pool->used_bytes_high) {
        pool->used_bytes_high = pool->used_bytes;
    }
    *address = (uint64_t)(uintptr_t)block + UNIT_BYTES;
    return OK;
}

int cuMemFreeAsync(uint64_t address, struct stream *stream)
{
    struct block *block = find_block(address);
    block->queued_bytes = block->bytes;
    block->pool->used_bytes -= block->bytes;
    return add_work(stream, (struct work){.kind = WORK_FREE, .block = block});
}

int cuStreamCreate(struct stream **out, unsigned flags)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL || flags > 1) {
        free(stream);
        return INVALID_VALUE;
    }
    stream->end = &stream->first;
    stream->next = streams;
    streams = stream;
    *out = stream;
    return OK;
}

int cuStreamSynchronize(struct stream *stream)
{
    advance_all();
    while (stream->first != NULL) {
        pause_shortly();
    }
    return OK;
}

int cuStreamWaitValue32_v2(struct stream *stream, uint64_t address, uint32_t value, unsigned flags)
{
    return flags != 0 ? INVALID_VALUE
                      : add_work(stream, (struct work){.kind = WORK_WAIT,
                                                       .flag = (uint32_t *)(uintptr_t)address,
                                                       .value = value});
}

int cuEventCreate(struct event **out, unsigned flags)
{
    *out = flags == 2 ? calloc(1, sizeof **out) : NULL;
    return *out != NULL ? OK : INVALID_VALUE;
}

int cuEventRecord(struct event *event, struct stream *stream)
{
    event->pending_count++;
    return add_work(stream, (struct work){.kind = WORK_RECORD, .event = event});
}

int cuEventSynchronize(struct event *event)
{
    advance_all();
    while (event->pending_count > 0) {
        pause_shortly();
    }
    return OK;
}

int cuEventDestroy_v2(struct event *event)
{
    free(event);
    return OK;
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    *memory = flags == 2 ? calloc(1, bytes) : NULL;
    return *memory != NULL ? OK : INVALID_VALUE;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags)
{
    *address = (uint64_t)(uintptr_t)memory;
    return flags == 0 ? OK : INVALID_VALUE;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct stream *stream)
{
    return add_work(
        stream, (struct work){
                    .kind = WORK_COPY, .to = (void *)(uintptr_t)to, .from = from, .bytes = bytes});
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct stream *stream)
{
    return add_work(stream, (struct work){.kind = WORK_COPY,
                                          .to = to,
                                          .from = (const void *)(uintptr_t)from,
                                          .bytes = bytes});
}
