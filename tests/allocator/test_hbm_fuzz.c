/* Random ops against libhbm's own invariants, contents of buffers included, for every contract,
 * granule and order, with completions, losses and refusals mixed in. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/private/search.h"
#include "tests/allocator/hbm_device.h"
#include "tests/helpers/suite.h"

#define LIVE_MAX 96
#define PROGRAMS_MAX 8
#define OPS 1000

static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state += 0x9E3779B97F4A7C15u;
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t draw_below(uint64_t limit)
{
    return random_next() % limit;
}

struct live {
    struct hbm_buffer *buffer;
    uint64_t bytes;
    uint32_t holds;
    unsigned char stamp;
};

struct world {
    struct hbm_device device;
    struct hbm *hbm;
    struct live live[LIVE_MAX];
    size_t live_count;
    struct hbm_program *programs[PROGRAMS_MAX];
    size_t program_count;
    uint64_t event; /* the newest */
    uint64_t no_memory_count;
    unsigned char stamp;
    uint64_t granule;
    uint64_t capacity;
};

static void stamp_write(struct world *world, const struct live *live)
{
    uint64_t address = hbm_buffer_address(world->hbm, live->buffer);
    if (address != HBM_ADDRESS_NONE) {
        memset(world->device.memory + address, live->stamp, live->bytes);
    }
}

static void stamps_check(struct world *world)
{
    for (size_t i = 0; i < world->live_count; i++) {
        const struct live *live = &world->live[i];
        uint64_t address = hbm_buffer_address(world->hbm, live->buffer);
        if (address == HBM_ADDRESS_NONE) {
            continue;
        }
        ck_assert_uint_eq(world->device.memory[address], live->stamp);
        ck_assert_uint_eq(world->device.memory[address + live->bytes - 1], live->stamp);
    }
}

static struct hbm_request request_random(struct world *world)
{
    uint64_t bytes = 1 + (draw_below(4) == 0 ? draw_below(world->capacity / 3)
                                             : draw_below(world->capacity / 40));
    uint64_t align = draw_below(8) == 0 ? world->granule << draw_below(4) : 0;
    return (struct hbm_request){.size_bytes = bytes,
                                .align_bytes = align,
                                .kind = draw_below(2) ? HBM_KIND_OUTPUT : HBM_KIND_BUFFER};
}

static void live_add(struct world *world, struct hbm_buffer *buffer, uint64_t bytes)
{
    world->live[world->live_count] = (struct live){buffer, bytes, 0, world->stamp++};
    stamp_write(world, &world->live[world->live_count++]);
}

static void op_allocate(struct world *world)
{
    struct hbm_buffer *buffer;
    struct hbm_stats before, after;
    if (world->live_count == LIVE_MAX) {
        return;
    }
    struct hbm_request request = request_random(world);
    hbm_stats(world->hbm, &before);
    enum hbm_result result = hbm_allocate(world->hbm, &request, &buffer);
    if (result == HBM_OK) {
        live_add(world, buffer, request.size_bytes);
        return;
    }
    ck_assert_int_ne(result, HBM_INVALID);
    world->no_memory_count += result == HBM_NO_MEMORY;
    hbm_stats(world->hbm, &after);
    ck_assert_uint_eq(before.peak_bytes_in_use, after.peak_bytes_in_use);
    /* Bytes of a block that is stranded on the host stay its own, whatever hole there is. */
    bool enough = after.bytes_limit - after.bytes_in_use - after.bytes_reserved >=
                  request.size_bytes;
    if (result == HBM_NO_MEMORY && request.align_bytes == 0 && enough) {
        ck_assert_uint_lt(after.largest_free_block_bytes, request.size_bytes);
    }
}

static void live_drop(struct world *world, size_t i)
{
    while (world->live[i].holds != 0) {
        ck_assert_int_eq(hbm_release(world->hbm, world->live[i].buffer), HBM_OK);
        world->live[i].holds--;
    }
    if (draw_below(2)) {
        hbm_free(world->hbm, world->live[i].buffer);
    } else {
        ck_assert_int_eq(hbm_free_after(world->hbm, world->live[i].buffer, ++world->event), HBM_OK);
    }
    world->live[i] = world->live[--world->live_count];
}

static void op_buffer(struct world *world)
{
    if (world->live_count == 0) {
        return;
    }
    size_t i = draw_below(world->live_count);
    struct live *live = &world->live[i];
    switch (draw_below(8)) {
    case 0: {
        enum hbm_result result = hbm_use(world->hbm, live->buffer, ++world->event);
        ck_assert(result == HBM_OK || result == HBM_UNAVAILABLE);
        break;
    }
    case 1:
        ck_assert_int_eq(hbm_hold(world->hbm, live->buffer), HBM_OK);
        live->holds++;
        break;
    case 2: {
        struct hbm_request request = {.size_bytes = 1 + draw_below(live->bytes)};
        struct hbm_buffer *out;
        if (hbm_donate(world->hbm, live->buffer, &request, &out) == HBM_OK) {
            live->buffer = out;
            live->bytes = request.size_bytes;
        }
        break;
    }
    default:
        live_drop(world, i);
    }
}

static void op_program(struct world *world)
{
    if (world->program_count < PROGRAMS_MAX && draw_below(3) == 0) {
        struct hbm_program_request request = {.id = draw_below(100),
                                              .image_bytes = 1 + draw_below(world->capacity / 10),
                                              .stack_bytes = draw_below(world->capacity / 4),
                                              .name = "jit_step"};
        enum hbm_result result = hbm_program_load(world->hbm, &request,
                                                  &world->programs[world->program_count]);
        world->program_count += result == HBM_OK;
        return;
    }
    if (world->program_count == 0) {
        return;
    }
    size_t i = draw_below(world->program_count);
    if (draw_below(6) == 0) {
        hbm_program_unload(world->hbm, world->programs[i]);
        world->programs[i] = world->programs[--world->program_count];
        return;
    }
    enum hbm_result result = hbm_execute(world->hbm, world->programs[i], ++world->event);
    ck_assert_int_ne(result, HBM_INVALID);
}

static void op_launch(struct world *world)
{
    if (world->program_count == 0 || world->live_count < 3 || world->live_count + 2 > LIVE_MAX) {
        return;
    }
    size_t first = draw_below(world->live_count - 2);
    struct hbm_buffer *inputs[3], *outputs[2];
    for (size_t i = 0; i < 3; i++) {
        inputs[i] = world->live[first + i].buffer;
    }
    struct hbm_request requests[2] = {
        request_random(world),
        {.size_bytes = 1 + draw_below(world->live[first].bytes), .kind = HBM_KIND_OUTPUT}};
    size_t donations[2] = {HBM_NOT_DONATED, 0};
    struct hbm_launch launch = {.program = world->programs[draw_below(world->program_count)],
                                .event = ++world->event,
                                .inputs = inputs,
                                .input_count = 3,
                                .outputs = requests,
                                .donations = donations,
                                .output_count = 2};
    if (hbm_launch(world->hbm, &launch, outputs) != HBM_OK) {
        return;
    }
    world->live[first].buffer = outputs[1];
    world->live[first].bytes = requests[1].size_bytes;
    live_add(world, outputs[0], requests[0].size_bytes);
}

static void op_device(struct world *world)
{
    if (world->event == 0) {
        return;
    }
    uint64_t window = world->event < 40 ? world->event : 40;
    uint64_t event = world->event - draw_below(window);
    if (draw_below(12) == 0) {
        world->device.lost[event] = true;
    } else {
        hbm_device_complete(&world->device, event);
    }
    if (draw_below(40) == 0) {
        world->device.copies_refused = 1 + draw_below(2);
    }
    if (draw_below(40) == 0) {
        world->device.stage_ins_refused = 1 + draw_below(3);
    }
    if (draw_below(40) == 0) {
        world->device.unloads_refused = 1;
    }
    if (draw_below(200) == 0 && hbm_defragment(world->hbm) == HBM_OK) {
        stamps_check(world);
    }
}

static void world_op(struct world *world)
{
    uint64_t draw = draw_below(20);
    if (draw < 8) {
        op_allocate(world);
    } else if (draw < 13) {
        op_buffer(world);
    } else if (draw < 15) {
        op_program(world);
    } else if (draw < 16) {
        op_launch(world);
    } else {
        op_device(world);
    }
}

static void world_end(struct world *world, size_t host_start)
{
    world->device.stage_ins_refused = 0;
    while (world->live_count != 0) {
        live_drop(world, world->live_count - 1);
    }
    while (world->program_count != 0) {
        hbm_program_unload(world->hbm, world->programs[--world->program_count]);
    }
    for (uint64_t event = 1; event <= world->event; event++) {
        hbm_device_complete(&world->device, event);
    }
    struct hbm_stats stats;
    hbm_stats(world->hbm, &stats);
    ck_assert_uint_eq(stats.bytes_in_use, 0);
    ck_assert_uint_eq(stats.num_allocs, 0);
    ck_assert_uint_eq(stats.bytes_reserved, 0);
    ck_assert_uint_eq(stats.largest_free_block_bytes, world->capacity);
    ck_assert_uint_eq(world->device.host_bytes, host_start);
    hbm_destroy(world->hbm);
    ck_assert_uint_eq(world->device.host_bytes, 0);
    hbm_device_deinit(&world->device);
}

static const enum hbm_mitigation orders[6][3] = {
    {HBM_DRAIN, HBM_DEFRAGMENT, HBM_EVICT}, {HBM_DRAIN, HBM_EVICT, HBM_DEFRAGMENT},
    {HBM_DEFRAGMENT, HBM_DRAIN, HBM_EVICT}, {HBM_DEFRAGMENT, HBM_EVICT, HBM_DRAIN},
    {HBM_EVICT, HBM_DRAIN, HBM_DEFRAGMENT}, {HBM_EVICT, HBM_DEFRAGMENT, HBM_DRAIN},
};

static void world_run(uint64_t seed, enum hbm_defrag defrag, uint32_t granule,
                      const enum hbm_mitigation *order)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    random_state = seed;
    world.granule = granule;
    world.capacity = (uint64_t)granule * 600;
    hbm_device_init(&world.device, world.capacity);
    struct hbm_services services = hbm_device_services(&world.device);
    struct hbm_options options;
    hbm_options_init(&options);
    options.capacity_bytes = world.capacity;
    options.granule_bytes = granule;
    options.defrag = defrag;
    options.program_evicts_program = seed & 1;
    options.search_nodes_max = 20000;
    memcpy(options.order, order, sizeof options.order);
    ck_assert_int_eq(hbm_create(&services, &options, &world.hbm), HBM_OK);
    size_t host_start = world.device.host_bytes;
    for (int i = 0; i < OPS; i++) {
        world_op(&world);
        ck_assert_msg(hbm_invariants_hold(world.hbm), "seed %lu op %d", (unsigned long)seed, i);
        stamps_check(&world);
    }
    ck_assert_uint_ne(world.no_memory_count, 0);
    world_end(&world, host_start);
}

EVERY_TEST(.timeout_s = 300);

TEST(random_ops_keep_every_invariant, .to = 18)
{
    static const uint32_t granules[] = {1, 128, 512, 1024};
    for (int granule = 0; granule < 4; granule++) {
        uint64_t seed = (uint64_t)_i * 100 + (uint64_t)granule + 1;
        world_run(seed, (enum hbm_defrag)(_i % 3), granules[granule], orders[(_i / 3) % 6]);
    }
}

/* ---- the exact search against trying everything ---- */

static bool brute_fits(const uint64_t *sizes, size_t count, uint64_t *rooms, size_t bins)
{
    if (count == 0) {
        return true;
    }
    for (size_t i = 0; i < bins; i++) {
        if (rooms[i] < sizes[0]) {
            continue;
        }
        rooms[i] -= sizes[0];
        bool fits = brute_fits(sizes + 1, count - 1, rooms, bins);
        rooms[i] += sizes[0];
        if (fits) {
            return true;
        }
    }
    return false;
}

static int compare_descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static int compare_ascending(const void *a, const void *b)
{
    return -compare_descending(a, b);
}

static void found_check(void *context, const uint32_t *bins)
{
    const struct hbm_search *search = context;
    uint64_t rooms[8];
    memcpy(rooms, search->capacities, search->bin_count * sizeof *rooms);
    for (size_t i = 0; i < search->item_count; i++) {
        ck_assert_uint_ge(rooms[bins[i]], search->sizes[i]);
        rooms[bins[i]] -= search->sizes[i];
    }
}

TEST(exact_search_agrees_with_trying_everything)
{
    static struct hbm_device device;
    hbm_device_init(&device, 0);
    struct hbm_host host = {.services = hbm_device_services(&device)};
    int fitting = 0;
    random_state = 7;
    for (int round = 0; round < 20000; round++) {
        uint64_t sizes[8], capacities[4], rooms[4], limit = draw_below(2) ? 6 : 30, sum = 0;
        size_t count = 1 + draw_below(8), bins = 1 + draw_below(4);
        for (size_t i = 0; i < count; i++) {
            sum += sizes[i] = 1 + draw_below(limit);
        }
        for (size_t i = 0; i < bins; i++) {
            capacities[i] = 1 + draw_below(2 * sum / bins + 2);
        }
        qsort(sizes, count, sizeof *sizes, compare_descending);
        qsort(capacities, bins, sizeof *capacities, compare_ascending);
        memcpy(rooms, capacities, sizeof rooms);
        struct hbm_search search = {.sizes = sizes,
                                    .item_count = count,
                                    .capacities = capacities,
                                    .bin_count = bins,
                                    .nodes_max = 1000000,
                                    .found = found_check,
                                    .host = &host};
        search.context = &search;
        bool fits = brute_fits(sizes, count, rooms, bins);
        ck_assert_int_eq(hbm_search_run(&search), fits ? HBM_SEARCH_FOUND : HBM_SEARCH_NONE);
        fitting += fits;
    }
    ck_assert_int_gt(fitting, 2000);
    ck_assert_int_lt(fitting, 18000);
    hbm_device_deinit(&device);
}

static void found_note(void *context, const uint32_t *bins)
{
    (void)bins;
    *(bool *)context = true;
}

/* Many equal items and few bytes to spare: the same ways to fill the first bin come up again and
 * again. */
TEST(exact_search_does_not_try_the_same_fillings_again)
{
    static const uint64_t sizes[] = {
        8102565, 4441763, 2027764, 1806110, 1032063, 1032063, 1032063, 1032063, 1032063, 1032063,
        1032063, 774047,  774047,  774047,  774047,  516031,  516031,  516031,  516031,  516031,
        516031,  275216,  275216,  275216,  275216,  258015,  258015,  258015,  258015,  258015,
        133182,  132632,  81047,   68665,   66436,   64595,   49377,   43926,   33704,   31940,
        30451,   17975,   14931,   8982,    8187,    7115,    6484,
    };
    static const uint64_t capacities[] = {3267586, 29718018};
    static struct hbm_device device;
    hbm_device_init(&device, 0);
    struct hbm_host host = {.services = hbm_device_services(&device)};
    bool found = false;
    struct hbm_search search = {.sizes = sizes,
                                .item_count = sizeof sizes / sizeof *sizes,
                                .capacities = capacities,
                                .bin_count = 2,
                                .nodes_max = HBM_SEARCH_NODES_DEFAULT,
                                .found = found_note,
                                .context = &found,
                                .host = &host};
    ck_assert_int_eq(hbm_search_run(&search), HBM_SEARCH_FOUND);
    ck_assert(found);
    ck_assert_uint_eq(host.bytes, 0);
    hbm_device_deinit(&device);
}
