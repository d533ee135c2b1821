/* The same dense list of ops again and again, with device call 1, 2, 3, … going wrong, once and for
 * ever, until a run ends in which nothing went wrong: after each op blocks, counters and contents
 * are as promised.  And long lists on larger devices, for every contract, granule and order, with
 * calls that go wrong at random. */
#include <check.h>
#include <string.h>

#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#define LIVE_MAX 96
#define PROGRAMS_MAX 8
#define FAULTS_MAX 4000

struct scale {
    bool is_large;
    uint32_t granule_bytes, granules;
    size_t live_max, program_max;
    unsigned op_count;
    enum hbm_mitigation order[3];
};
static const struct scale dense = {
    false, RIG_GRANULE, 24, 12, 3, 70, {HBM_DRAIN, HBM_DEFRAGMENT, HBM_EVICT}};

struct live {
    struct hbm_buffer *buffer;
    uint64_t bytes;
    uint32_t holds;
    unsigned char stamp;
};

struct image {
    struct hbm_program *program;
    unsigned char stamp;
};

struct world {
    struct hbm_rig rig;
    const struct scale *scale;
    uint64_t capacity_bytes;
    struct live live[LIVE_MAX];
    size_t live_count;
    struct image images[PROGRAMS_MAX];
    size_t image_count;
    uint64_t retired_bytes;
    unsigned char stamp;
    bool again; /* an op that failed is tried again without the fault */
};

/* What happened in all runs together. */
static struct {
    uint64_t unavailable, no_memory, stranded, staged, retired;
} seen;

static struct world world;

/* The same number of draws whatever there is. */
static size_t one_of(size_t count)
{
    size_t draw = draw_below(world.scale->live_max);
    return count == 0 ? 0 : draw % count;
}

static uint64_t event_new(void)
{
    return ++world.rig.device.event_newest;
}

/* ---- contents ---- */

/* Of large blocks the ends are looked at. */
static bool bytes_are(uint64_t address, uint64_t bytes, unsigned char stamp)
{
    const uint64_t stride = world.scale->is_large && bytes > 1 ? bytes - 1 : 1;
    for (uint64_t i = 0; i < bytes; i += stride) {
        if (world.rig.device.memory[address + i] != stamp) {
            return false;
        }
    }
    return true;
}

static void live_add(struct hbm_buffer *buffer, uint64_t bytes)
{
    struct live live = {buffer, bytes, 0, ++world.stamp};
    memset(world.rig.device.memory + rig_at(&world.rig, buffer), live.stamp, bytes);
    world.live[world.live_count++] = live;
}

static void image_stamp(struct image *image)
{
    uint64_t address = hbm_program_address(world.rig.hbm, image->program);
    image->stamp = ++world.stamp;
    memset(world.rig.device.memory + address, image->stamp,
           hbm_program_size(world.rig.hbm, image->program));
}

static void contents_check(bool all_back)
{
    for (size_t i = 0; i < world.live_count; i++) {
        uint64_t address = rig_at(&world.rig, world.live[i].buffer);
        seen.stranded += address == HBM_ADDRESS_NONE;
        ck_assert(!all_back || address != HBM_ADDRESS_NONE);
        if (address != HBM_ADDRESS_NONE) {
            ck_assert(bytes_are(address, world.live[i].bytes, world.live[i].stamp));
        }
    }
    for (size_t i = 0; i < world.image_count; i++) {
        uint64_t address = hbm_program_address(world.rig.hbm, world.images[i].program);
        bool loaded = hbm_program_is_loaded(world.rig.hbm, world.images[i].program);
        ck_assert(!all_back || !loaded || address != HBM_ADDRESS_NONE);
        if (address != HBM_ADDRESS_NONE) {
            ck_assert(bytes_are(address, hbm_program_size(world.rig.hbm, world.images[i].program),
                                world.images[i].stamp));
        }
    }
}

/* ---- ops that may fail ---- */

enum op_kind {
    OP_ALLOCATE,
    OP_LOAD,
    OP_EXECUTE,
    OP_LAUNCH,
    OP_DEFRAGMENT,
    OP_FREE_AFTER,
    OP_USE,
    OP_RETIRE,
    OP_DONATE
};

struct op {
    enum op_kind kind;
    struct hbm_request request;
    struct hbm_program_request program;
    size_t index, input;
    uint64_t event, address;
};

static enum hbm_result execute_try(const struct op *op)
{
    struct image *image = &world.images[op->index];
    bool was_loaded = hbm_program_is_loaded(world.rig.hbm, image->program);
    uint64_t evictions = rig_stats(&world.rig).programs_evicted;
    enum hbm_result result = hbm_execute(world.rig.hbm, image->program, op->event);
    if (result == HBM_OK && (!was_loaded || rig_stats(&world.rig).programs_evicted != evictions)) {
        image_stamp(image);
    }
    return result;
}

/* One input is read, another is donated, and one more output is made. */
static enum hbm_result launch_try(const struct op *op)
{
    size_t donated = (op->input + 1) % world.live_count, donations[2] = {HBM_NOT_DONATED, 1};
    struct image *image = &world.images[op->index];
    bool was_loaded = hbm_program_is_loaded(world.rig.hbm, image->program);
    struct hbm_buffer *outputs[2],
        *inputs[2] = {world.live[op->input].buffer, world.live[donated].buffer};
    struct hbm_request requests[2] = {
        op->request, {.size_bytes = world.live[donated].bytes, .kind = HBM_KIND_OUTPUT}};
    struct hbm_launch launch = {.program = image->program,
                                .event = op->event,
                                .inputs = inputs,
                                .input_count = 2,
                                .outputs = requests,
                                .donations = donations,
                                .output_count = 2};
    enum hbm_result result = hbm_launch(world.rig.hbm, &launch, outputs);
    if (result != HBM_OK) {
        return result;
    }
    world.live[donated].buffer = outputs[1];
    live_add(outputs[0], op->request.size_bytes);
    if (!was_loaded) {
        image_stamp(image);
    }
    return HBM_OK;
}

static enum hbm_result allocate_try(const struct op *op)
{
    struct hbm_buffer *buffer;
    enum hbm_result result = hbm_allocate(world.rig.hbm, &op->request, &buffer);
    if (result == HBM_OK) {
        live_add(buffer, op->request.size_bytes);
        const uint64_t align_bytes = op->request.align_bytes == 0 ? 1 : op->request.align_bytes;
        ck_assert_uint_eq(rig_at(&world.rig, buffer) % align_bytes, 0);
    }
    return result;
}

static enum hbm_result donate_try(const struct op *op)
{
    struct live *live = &world.live[op->index];
    const struct hbm_request request = {.size_bytes = 1 + op->request.size_bytes % live->bytes};
    const enum hbm_result result = hbm_donate(world.rig.hbm, live->buffer, &request, &live->buffer);
    if (result == HBM_OK) {
        live->bytes = request.size_bytes;
    }
    return result;
}

static enum hbm_result load_try(const struct op *op)
{
    struct image image;
    enum hbm_result result = hbm_program_load(world.rig.hbm, &op->program, &image.program);
    if (result == HBM_OK) {
        world.images[world.image_count] = image;
        image_stamp(&world.images[world.image_count++]);
    }
    return result;
}

static enum hbm_result op_try(const struct op *op)
{
    enum hbm_result result = HBM_OK;
    struct hbm *hbm = world.rig.hbm;
    switch (op->kind) {
    case OP_ALLOCATE:
        return allocate_try(op);
    case OP_LOAD:
        return load_try(op);
    case OP_EXECUTE:
        return execute_try(op);
    case OP_LAUNCH:
        return launch_try(op);
    case OP_DONATE:
        return donate_try(op);
    case OP_DEFRAGMENT:
        return hbm_defragment(hbm);
    case OP_USE:
        return hbm_use(hbm, world.live[op->index].buffer, op->event);
    case OP_FREE_AFTER:
        result = hbm_free_after(hbm, world.live[op->index].buffer, op->event);
        if (result == HBM_OK) {
            world.live[op->index] = world.live[--world.live_count];
        }
        return result;
    case OP_RETIRE:
        result = hbm_retire(hbm, op->address, world.scale->granule_bytes);
        if (result == HBM_OK) {
            world.retired_bytes += world.scale->granule_bytes;
        }
        return result;
    }
    return result;
}

static bool op_is_possible(const struct op *op)
{
    switch (op->kind) {
    case OP_ALLOCATE:
        return world.live_count < world.scale->live_max;
    case OP_LOAD:
        return world.image_count < world.scale->program_max;
    case OP_EXECUTE:
        return world.image_count != 0;
    case OP_LAUNCH:
        return world.image_count != 0 && world.live_count >= 2 &&
               world.live_count < world.scale->live_max &&
               world.live[(op->input + 1) % world.live_count].holds == 0;
    case OP_DEFRAGMENT:
        return world.rig.options.defrag != HBM_DEFRAG_NONE;
    case OP_RETIRE:
        return !world.scale->is_large &&
               world.retired_bytes < 2 * (uint64_t)world.scale->granule_bytes;
    case OP_USE:
        return world.live_count != 0;
    case OP_FREE_AFTER:
    case OP_DONATE:
        return world.live_count != 0 && world.live[op->index].holds == 0;
    }
    return false;
}

/* A few granules, or up to a third of a large device. */
static uint64_t size_draw(void)
{
    if (!world.scale->is_large) {
        return (1 + draw_below(3) + draw_below(4)) * RIG_GRANULE;
    }
    return 1 + draw_below(world.capacity_bytes / (draw_below(4) == 0 ? 3 : 40));
}

static struct op op_draw(void)
{
    static const enum op_kind kinds[] = {
        OP_ALLOCATE,   OP_ALLOCATE,   OP_ALLOCATE, OP_ALLOCATE, OP_ALLOCATE, OP_ALLOCATE,
        OP_LOAD,       OP_EXECUTE,    OP_EXECUTE,  OP_LAUNCH,   OP_LAUNCH,   OP_DEFRAGMENT,
        OP_FREE_AFTER, OP_FREE_AFTER, OP_USE,      OP_RETIRE,   OP_DONATE};
    const size_t kind_count = sizeof kinds / sizeof *kinds - (world.scale->is_large ? 0 : 1);
    const uint64_t granule_bytes = world.scale->granule_bytes;
    const uint64_t most = world.scale->is_large ? world.scale->granules / 10 : 4;
    struct op op = {.kind = kinds[draw_below(kind_count)]};
    op.request.size_bytes = size_draw();
    op.request.align_bytes = draw_below(4) == 0 ? granule_bytes << draw_below(3) : 0;
    op.program = (struct hbm_program_request){.id = 1 + draw_below(100),
                                              .image_bytes = (1 + draw_below(most)) * granule_bytes,
                                              .stack_bytes = draw_below(most) * granule_bytes,
                                              .name = "jit_step"};
    op.address = draw_below(world.scale->granules) * granule_bytes;
    op.event = event_new();
    bool on_program = op.kind == OP_EXECUTE || op.kind == OP_LAUNCH;
    op.index = one_of(on_program ? world.image_count : world.live_count);
    op.input = one_of(world.live_count);
    return op;
}

/* A call that failed left everything as it was but for what its mitigations did. */
static void failure_check(const struct hbm_stats *before)
{
    struct hbm_stats after = rig_stats(&world.rig);
    ck_assert_uint_le(after.num_allocs, before->num_allocs);
    ck_assert_uint_le(after.bytes_in_use, before->bytes_in_use);
    ck_assert_uint_le(after.bytes_reserved, before->bytes_reserved);
    ck_assert_uint_eq(after.peak_bytes_in_use, before->peak_bytes_in_use);
    ck_assert_uint_eq(after.largest_alloc_size, before->largest_alloc_size);
    ck_assert_uint_eq(after.peak_bytes_reserved, before->peak_bytes_reserved);
}

/* Bytes of a block that is stranded on the host stay its own, whatever hole there is. */
static void no_memory_check(const struct op *op)
{
    const struct hbm_stats now = rig_stats(&world.rig);
    const uint64_t free_bytes = now.bytes_limit - now.bytes_in_use - now.bytes_reserved;
    seen.no_memory++;
    if (op->kind == OP_ALLOCATE && op->request.align_bytes == 0 &&
        free_bytes >= op->request.size_bytes) {
        ck_assert_uint_lt(now.largest_free_block_bytes, op->request.size_bytes);
    }
}

/* Without the fault the call works, and an out-of-memory stays one. */
static void op_again(const struct op *op, enum hbm_result result)
{
    struct device_fault fault = world.rig.device.fault;
    world.rig.device.fault.at = 0;
    enum hbm_result again = op_try(op);
    ck_assert_int_ne(again, HBM_UNAVAILABLE);
    /* The first output of a launch is held where it is while the rest is placed, so the order of
     * blocks counts. */
    if (result == HBM_NO_MEMORY && op->kind != OP_LAUNCH) {
        ck_assert_int_eq(again, HBM_NO_MEMORY);
    }
    contents_check(true);
    world.rig.device.fault = fault;
}

static void op_run(const struct op *op)
{
    struct hbm_stats before = rig_stats(&world.rig);
    uint64_t fired = world.rig.device.fault_count;
    enum hbm_result result = op_try(op);
    fired = world.rig.device.fault_count - fired;
    ck_assert(hbm_invariants_hold(world.rig.hbm));
    contents_check(false);
    seen.unavailable += result == HBM_UNAVAILABLE;
    seen.retired += op->kind == OP_RETIRE && result == HBM_OK;
    if (result == HBM_OK) {
        return;
    }
    failure_check(&before);
    if (result == HBM_NO_MEMORY) {
        no_memory_check(op);
    }
    ck_assert(result != HBM_INVALID || op->kind == OP_RETIRE);
    if (result == HBM_UNAVAILABLE) {
        ck_assert_uint_ne(fired, 0);
        ck_assert(world.rig.device.fault.kind == DEVICE_REFUSES ||
                  world.rig.device.fault.kind == DEVICE_TIMES_OUT);
    }
    if (world.again || result == HBM_NO_MEMORY) {
        op_again(op, result);
    }
}

/* ---- ops that cannot ---- */

static void live_drop(size_t i)
{
    for (; world.live[i].holds != 0; world.live[i].holds--) {
        ck_assert_int_eq(hbm_release(world.rig.hbm, world.live[i].buffer), HBM_OK);
    }
    hbm_free(world.rig.hbm, world.live[i].buffer);
    world.live[i] = world.live[--world.live_count];
}

static void quiet_op(void)
{
    size_t i = one_of(world.live_count);
    uint64_t draw = draw_below(10), event = world.rig.device.event_newest;
    event -= draw_below(event < 12 ? event + 1 : 12);
    if (draw < 3 && world.live_count != 0) {
        live_drop(i);
    } else if (draw == 3 && world.live_count != 0 && draw_below(3) == 0 &&
               ++world.live[i].holds != 0) {
        ck_assert_int_eq(hbm_hold(world.rig.hbm, world.live[i].buffer), HBM_OK);
    } else if (draw == 4 && world.image_count != 0 && draw_below(3) == 0) {
        hbm_program_unload(world.rig.hbm, world.images[--world.image_count].program);
    } else if (draw == 5 && event != 0 && draw_below(3) == 0) {
        world.rig.device.lost[event] = true;
    } else if (draw > 5 && event != 0) {
        hbm_device_complete(&world.rig.device, event);
    }
}

/* ---- runs ---- */

static void world_end(size_t host_start)
{
    world.rig.device.fault.at = 0;
    while (world.live_count != 0) {
        live_drop(world.live_count - 1);
    }
    while (world.image_count != 0) {
        hbm_program_unload(world.rig.hbm, world.images[--world.image_count].program);
    }
    for (uint64_t event = 1; event <= world.rig.device.event_newest; event++) {
        hbm_device_complete(&world.rig.device, event);
    }
    struct hbm_stats stats = rig_stats(&world.rig);
    ck_assert_uint_eq(stats.bytes_in_use, world.retired_bytes);
    ck_assert_uint_eq(stats.num_allocs, world.retired_bytes / world.scale->granule_bytes);
    ck_assert(world.retired_bytes != 0 || stats.largest_free_block_bytes == world.capacity_bytes);
    ck_assert_uint_eq(stats.bytes_reserved, 0);
    ck_assert_uint_eq(world.rig.device.torn_broken, 0);
    if (world.rig.device.fault.calls != DEVICE_CALL_HOST) {
        ck_assert_uint_eq(world.rig.device.host_bytes, host_start);
    }
    seen.staged += world.rig.device.stage_outs;
    rig_stop(&world.rig);
}

static void world_begin(uint64_t seed, enum hbm_defrag defrag, const struct scale *scale)
{
    memset(&world, 0, sizeof world);
    world.scale = scale;
    random_state = seed;
    world.capacity_bytes = (uint64_t)scale->granules * scale->granule_bytes;
    rig_init(&world.rig, (world.capacity_bytes + RIG_GRANULE - 1) / RIG_GRANULE, defrag);
    world.rig.options.capacity_bytes = world.capacity_bytes;
    world.rig.options.granule_bytes = scale->granule_bytes;
    world.rig.options.program_evicts_program = (seed & 1) != 0;
    memcpy(world.rig.options.order, scale->order, sizeof scale->order);
    rig_create(&world.rig);
}

/* True when the fault struck. */
static bool world_run(uint64_t seed, enum hbm_defrag defrag, const struct scale *scale,
                      const struct device_fault *fault)
{
    world_begin(seed, defrag, scale);
    size_t host_start = world.rig.device.host_bytes;
    world.again = (fault->at & 1) != 0;
    hbm_device_arm(&world.rig.device, fault);
    for (unsigned i = 0; i < scale->op_count; i++) {
        struct op op = op_draw();
        if (op_is_possible(&op)) {
            op_run(&op);
        }
        if (draw_below(2) == 0) {
            quiet_op();
        }
        if (scale->is_large && draw_below(40) == 0) {
            world.rig.device.fault.at = world.rig.device.fault_calls + 1 + draw_below(20);
        }
        ck_assert(hbm_invariants_hold(world.rig.hbm));
    }
    bool struck = world.rig.device.fault_count != 0;
    world.rig.device.fault.at = 0;
    if (world.live_count != 0) {
        ck_assert_int_ne(hbm_use(world.rig.hbm, world.live[0].buffer, event_new()),
                         HBM_UNAVAILABLE);
    }
    contents_check(true);
    world_end(host_start);
    return struck;
}

/* Every contract, once and for ever, with op lists 1..list_count, or a part of them. */
static void sweep_faults(enum device_fault_kind kind, unsigned calls, unsigned list_count)
{
    const unsigned drawn_count = (unsigned)draws_count(list_count, 1);
    memset(&seen, 0, sizeof seen);
    for (unsigned i = 0; i < 6 * drawn_count; i++) {
        struct device_fault fault = {.kind = kind, .calls = calls, .at = 1, .for_ever = i % 2 != 0};
        while (world_run(1 + i / 6, (enum hbm_defrag)(i / 2 % 3), &dense, &fault)) {
            ck_assert_uint_lt(++fault.at, FAULTS_MAX);
        }
    }
}

EVERY_TEST(.timeout_s = 300);

TEST(every_promise_holds_when_a_copy_is_refused)
{
    sweep_faults(DEVICE_REFUSES, DEVICE_CALL_COPY, 60);
    ck_assert_uint_ne(seen.unavailable, 0);
    ck_assert_uint_ne(seen.staged, 0);
    ck_assert_uint_ne(seen.stranded, 0);
    ck_assert_uint_ne(seen.retired, 0);
}

TEST(every_promise_holds_when_a_wait_is_refused)
{
    sweep_faults(DEVICE_REFUSES, DEVICE_CALL_WAIT, 6);
    ck_assert_uint_ne(seen.unavailable, 0);
}

TEST(every_promise_holds_when_an_unload_is_refused)
{
    sweep_faults(DEVICE_REFUSES, DEVICE_CALL_UNLOAD, 20);
    ck_assert_uint_ne(seen.unavailable, 0);
}

TEST(every_promise_holds_when_host_memory_is_refused)
{
    sweep_faults(DEVICE_REFUSES, DEVICE_CALL_HOST, 2);
    ck_assert_uint_ne(seen.unavailable, 0);
}

TEST(every_promise_holds_when_any_call_is_refused)
{
    sweep_faults(DEVICE_REFUSES, DEVICE_CALL_ANY, 2);
    ck_assert_uint_ne(seen.unavailable, 0);
}

TEST(calls_that_are_done_in_part_are_made_again_and_nobody_notices)
{
    sweep_faults(DEVICE_HALVES, DEVICE_CALL_COPY | DEVICE_CALL_UNLOAD, 30);
    ck_assert_uint_eq(seen.unavailable, 0);
}

TEST(what_completes_during_a_wait_that_times_out_is_not_overlooked)
{
    sweep_faults(DEVICE_TIMES_OUT, DEVICE_CALL_WAIT, 6);
    ck_assert_uint_ne(seen.unavailable, 0);
}

TEST(what_completes_during_any_call_is_not_overlooked)
{
    sweep_faults(DEVICE_JUMPS, DEVICE_CALL_ANY, 2);
    ck_assert_uint_eq(seen.unavailable, 0);
}

TEST(every_promise_holds_on_large_devices_when_calls_are_refused_at_random, .to = 18)
{
    static const uint32_t granules[] = {1, 128, 512, 1024};
    static const enum hbm_mitigation orders[6][3] = {
        {HBM_DRAIN, HBM_DEFRAGMENT, HBM_EVICT}, {HBM_DRAIN, HBM_EVICT, HBM_DEFRAGMENT},
        {HBM_DEFRAGMENT, HBM_DRAIN, HBM_EVICT}, {HBM_DEFRAGMENT, HBM_EVICT, HBM_DRAIN},
        {HBM_EVICT, HBM_DRAIN, HBM_DEFRAGMENT}, {HBM_EVICT, HBM_DEFRAGMENT, HBM_DRAIN},
    };
    const struct device_fault fault = {DEVICE_REFUSES, DEVICE_CALL_ANY, 1, false};
    if (draws_period() > 1 && _i % 3 != _i / 3 % 3) {
        return; /* a short run has each order once */
    }
    for (size_t n = 0; n < draws_count(sizeof granules / sizeof *granules, 1); n++) {
        const size_t i = ((size_t)_i + n) % (sizeof granules / sizeof *granules);
        struct scale scale = {true, granules[i], 600, LIVE_MAX, PROGRAMS_MAX, 1000, {0}};
        memcpy(scale.order, orders[_i / 3], sizeof scale.order);
        memset(&seen, 0, sizeof seen);
        ck_assert(world_run((uint64_t)_i * 100 + i + 1, (enum hbm_defrag)(_i % 3), &scale, &fault));
        ck_assert_uint_ne(seen.no_memory, 0);
    }
}
