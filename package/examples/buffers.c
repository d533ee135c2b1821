/* A program that uses libhbm: it fills a small device, makes holes, asks for more than any hole
 * has, and sees the allocator move blocks.  Then it holds all blocks, and gets an out-of-memory.
 *
 *     cc -std=c17 -o buffers buffers.c $(pkg-config --cflags --libs libhbm)
 *
 * The device is an array.  That of a real runtime is behind the same table of services, whose
 * copies and waits are those of its driver. */
#include <hbm/hbm.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_BYTES = 1 << 20, BUFFER_BYTES = 64 << 10, BUFFER_COUNT = 16 };

static unsigned char device[CAPACITY_BYTES];

static enum hbm_service_result copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    (void)context;
    printf("  the device copies %" PRIu64 " KiB from 0x%05" PRIx64 " to 0x%05" PRIx64 "\n",
           bytes >> 10, from, to);
    memmove(device + to, device + from, bytes);
    return HBM_SERVICE_OK;
}

/* Through the host: the token is the address of a copy. */
static enum hbm_service_result stage_out(void *context, uint64_t from, uint64_t bytes,
                                         uint64_t *token)
{
    (void)context;
    void *staged = malloc(bytes);
    if (staged == NULL) {
        return HBM_SERVICE_REFUSED;
    }
    memcpy(staged, device + from, bytes);
    *token = (uintptr_t)staged;
    return HBM_SERVICE_OK;
}

static void stage_drop(void *context, uint64_t token)
{
    (void)context;
    free((void *)(uintptr_t)token);
}

static enum hbm_service_result stage_in(void *context, uint64_t token, uint64_t to, uint64_t bytes)
{
    memcpy(device + to, (void *)(uintptr_t)token, bytes);
    stage_drop(context, token);
    return HBM_SERVICE_OK;
}

/* This device does everything at once: no event is ever pending. */
static uint64_t completed_count(void *context)
{
    (void)context;
    return 0;
}

static bool event_done(void *context, uint64_t event)
{
    (void)context;
    (void)event;
    return true;
}

static enum hbm_service_result event_wait(void *context, uint64_t event)
{
    (void)context;
    (void)event;
    return HBM_SERVICE_OK;
}

static enum hbm_service_result unload(void *context, uint64_t program_id)
{
    (void)context;
    (void)program_id;
    return HBM_SERVICE_OK;
}

static uint64_t clock_ns(void *context)
{
    (void)context;
    return 0; /* mitigations cost no time here */
}

static void *host_alloc(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void host_free(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static const struct hbm_services services = {.copy = copy,
                                             .stage_out = stage_out,
                                             .stage_in = stage_in,
                                             .stage_drop = stage_drop,
                                             .completed_count = completed_count,
                                             .event_done = event_done,
                                             .event_wait = event_wait,
                                             .unload = unload,
                                             .clock_ns = clock_ns,
                                             .host_alloc = host_alloc,
                                             .host_free = host_free};

static struct hbm_buffer *allocate(struct hbm *hbm, uint64_t size_bytes)
{
    const struct hbm_request request = {.size_bytes = size_bytes, .kind = HBM_KIND_BUFFER};
    struct hbm_buffer *buffer = NULL;
    if (hbm_allocate(hbm, &request, &buffer) != HBM_OK) {
        printf("%" PRIu64 " KiB: %s\n", size_bytes >> 10, hbm_error(hbm));
        return NULL;
    }
    printf("%" PRIu64 " KiB at 0x%05" PRIx64 "\n", size_bytes >> 10,
           hbm_buffer_address(hbm, buffer));
    return buffer;
}

/* Whether both requests end as they should. */
static bool try_requests(struct hbm *hbm)
{
    struct hbm_buffer *buffers[BUFFER_COUNT];
    for (size_t i = 0; i < BUFFER_COUNT; i++) {
        buffers[i] = allocate(hbm, BUFFER_BYTES);
    }
    for (size_t i = 0; i < BUFFER_COUNT; i += 2) {
        hbm_free(hbm, buffers[i]);
    }
    printf("\nHalf is free, and no hole has more than 64 KiB:\n");
    struct hbm_buffer *large = allocate(hbm, 4 * BUFFER_BYTES);
    printf("\nNow all blocks are held:\n");
    for (size_t i = 1; i < BUFFER_COUNT; i += 2) {
        if (hbm_hold(hbm, buffers[i]) != HBM_OK) {
            return false;
        }
    }
    return large != NULL && allocate(hbm, 6 * BUFFER_BYTES) == NULL;
}

int main(void)
{
    struct hbm_options options;
    struct hbm *hbm = NULL;
    hbm_options_init(&options);
    options.capacity_bytes = CAPACITY_BYTES;
    if (hbm_create(&services, &options, &hbm) != HBM_OK) {
        return EXIT_FAILURE;
    }
    const bool is_good = try_requests(hbm);
    hbm_destroy(hbm);
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
