/* libhbm by its own interface, and the loop around it without a call.  Nothing moves. */
#include "bench/peers/subjects.h"

#include "allocator/hbm.h"
#include "harness/base/check.h"

#include <stdlib.h>

/* --- services: nothing moves, waits or is evicted --- */

static enum hbm_service_result refuse_copy(void *context, uint64_t from, uint64_t to,
                                           uint64_t bytes)
{
    (void)context, (void)from, (void)to, (void)bytes;
    return HBM_SERVICE_REFUSED;
}

static enum hbm_service_result refuse_stage_out(void *context, uint64_t from, uint64_t bytes,
                                                uint64_t *token)
{
    (void)context, (void)from, (void)bytes, (void)token;
    return HBM_SERVICE_REFUSED;
}

static enum hbm_service_result refuse_stage_in(void *context, uint64_t token, uint64_t to,
                                               uint64_t bytes)
{
    (void)context, (void)token, (void)to, (void)bytes;
    return HBM_SERVICE_REFUSED;
}

static void drop_stage(void *context, uint64_t token)
{
    (void)context, (void)token;
}

static uint64_t read_zero(void *context)
{
    (void)context;
    return 0;
}

static bool is_done(void *context, uint64_t event)
{
    (void)context, (void)event;
    return true;
}

static enum hbm_service_result wait_for_event(void *context, uint64_t event)
{
    (void)context, (void)event;
    return HBM_SERVICE_OK;
}

static enum hbm_service_result refuse_unload(void *context, uint64_t program)
{
    (void)context, (void)program;
    return HBM_SERVICE_REFUSED;
}

static void *take_host_memory(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void give_host_memory(void *context, void *memory, size_t bytes)
{
    (void)context, (void)bytes;
    free(memory);
}

static const struct hbm_services services = {.copy = refuse_copy,
                                             .stage_out = refuse_stage_out,
                                             .stage_in = refuse_stage_in,
                                             .stage_drop = drop_stage,
                                             .completed_count = read_zero,
                                             .event_done = is_done,
                                             .event_wait = wait_for_event,
                                             .unload = refuse_unload,
                                             .clock_ns = read_zero,
                                             .host_alloc = take_host_memory,
                                             .host_free = give_host_memory};

/* --- one list --- */

struct peer_player {
    struct hbm *hbm; /* NULL: the loop alone */
    const struct peer_op *ops;
    struct hbm_buffer **buffers; /* by op; NULL = none */
    uint64_t refused_count;
};

static inline void play_ops(struct peer_player *player, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct peer_op op = player->ops[i];
        if (op.size_bytes == 0) {
            if (player->buffers[op.ref] != NULL) {
                hbm_free(player->hbm, player->buffers[op.ref]);
            }
            continue;
        }
        const struct hbm_request request = {.size_bytes = op.size_bytes};
        player->refused_count += hbm_allocate(player->hbm, &request, &player->buffers[i]) != HBM_OK;
    }
}

static inline void play_nothing(const struct peer_player *player, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct peer_op op = player->ops[i];
        struct hbm_buffer **const place = &player->buffers[op.size_bytes == 0 ? op.ref : i];
        __asm__ volatile("" : : "r"(*place), "r"(op.size_bytes) : "memory");
    }
}

__attribute__((noinline)) static void libhbm_fill_ops(struct peer_player *player, size_t to)
{
    play_ops(player, 0, to);
}

__attribute__((noinline)) static void libhbm_steady_ops(struct peer_player *player, size_t from,
                                                        size_t to)
{
    play_ops(player, from, to);
}

__attribute__((noinline)) static void loop_steady_ops(const struct peer_player *player, size_t from,
                                                      size_t to)
{
    play_nothing(player, from, to);
}

static bool play_libhbm(const struct peer_subject *subject, const struct peer_list *list,
                        struct played *played)
{
    (void)subject;
    struct hbm_options options;
    hbm_options_init(&options);
    options.capacity_bytes = list->capacity_bytes;
    options.granule_bytes = PEER_GRANULE_BYTES;
    options.defrag = HBM_DEFRAG_NONE;
    struct peer_player player = {.ops = list->ops, .buffers = calloc(list->count, sizeof(void *))};
    CHECK(player.buffers != NULL);
    const bool has_heap = hbm_create(&services, &options, &player.hbm) == HBM_OK;
    if (has_heap) {
        libhbm_fill_ops(&player, list->fill_count);
        const double start_ns = read_cpu_ns();
        libhbm_steady_ops(&player, list->fill_count, list->count);
        *played = (struct played){read_cpu_ns() - start_ns, player.refused_count};
        hbm_destroy(player.hbm);
    }
    free(player.buffers);
    return has_heap;
}

static bool play_loop(const struct peer_subject *subject, const struct peer_list *list,
                      struct played *played)
{
    (void)subject;
    if (list->workload == NULL) {
        return false;
    }
    struct peer_player player = {.ops = list->ops, .buffers = calloc(list->count, sizeof(void *))};
    CHECK(player.buffers != NULL);
    const double start_ns = read_cpu_ns();
    loop_steady_ops(&player, list->fill_count, list->count);
    *played = (struct played){read_cpu_ns() - start_ns, 0};
    free(player.buffers);
    return true;
}

const struct peer_subject subject_loop = {"loop", play_loop, NULL};
const struct peer_subject subject_libhbm = {"libhbm", play_libhbm, NULL};
