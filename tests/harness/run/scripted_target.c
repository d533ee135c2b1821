#include "tests/harness/run/scripted_target.h"

#include "harness/device/span_map.h"
#include "tests/helpers/suite.h"

#include <string.h>

struct script script;

struct target_instance {
    uint32_t host;
};
static struct target_instance instances[HOST_COUNT] = {{0}, {1}, {2}};

static enum target_result fake_open(const struct target_setup *setup,
                                    const struct device_services *services,
                                    struct target_instance **instance,
                                    struct target_contract *contract, char *reason,
                                    size_t reason_bytes)
{
    (void)reason;
    (void)reason_bytes;
    *instance = &instances[setup->coordinate[0]];
    script.device[setup->coordinate[0]] = services;
    const struct target_contract *own = script.contract_of[setup->coordinate[0]];
    *contract = own != NULL ? *own : script.contract;
    return TARGET_OK;
}

static void fake_close(struct target_instance *instance)
{
    (void)instance;
    script.is_closed = true;
}

static void do_act(void)
{
    void (*act)(void) = script.act;
    script.act = NULL;
    if (act != NULL) {
        act();
    }
}

static enum target_result answer_call(struct target_block *block)
{
    do_act();
    const enum target_result result = script.result;
    script.result = TARGET_OK;
    if (result == TARGET_OK && block != NULL) {
        *block = script.block;
        script.at[block->handle % HANDLE_COUNT_MAX] = *block;
    }
    return result;
}

static enum target_result fake_alloc(struct target_instance *instance,
                                     const struct target_request *request,
                                     struct target_block *block)
{
    (void)instance;
    (void)request;
    return answer_call(block);
}

static enum target_result fake_free(struct target_instance *instance, uint64_t handle,
                                    uint64_t event)
{
    (void)instance;
    (void)event;
    ck_assert(!script.is_closed);
    script.free_count++;
    script.last_freed = handle;
    return answer_call(NULL);
}

static enum target_result fake_use(struct target_instance *instance, uint64_t handle,
                                   uint64_t event)
{
    (void)instance;
    (void)handle;
    (void)event;
    return answer_call(NULL);
}

static enum target_result fake_on_handle(struct target_instance *instance, uint64_t handle)
{
    (void)instance;
    (void)handle;
    return answer_call(NULL);
}

static enum target_result fake_donate(struct target_instance *instance, uint64_t handle,
                                      const struct target_request *request,
                                      struct target_block *block)
{
    (void)instance;
    (void)handle;
    (void)request;
    return answer_call(block);
}

static enum target_result fake_load(struct target_instance *instance,
                                    const struct target_program *program,
                                    struct target_block *image)
{
    (void)instance;
    (void)program;
    return answer_call(image);
}

static enum target_result fake_execute(struct target_instance *instance, uint64_t handle,
                                       uint64_t event, struct target_block *image)
{
    (void)instance;
    (void)handle;
    (void)event;
    return answer_call(image);
}

/* And sleep and wake, which name nothing either. */
static enum target_result fake_defragment(struct target_instance *instance)
{
    (void)instance;
    return answer_call(NULL);
}

static enum target_result fake_retire(struct target_instance *instance, uint64_t address,
                                      uint64_t size_bytes)
{
    (void)instance;
    (void)address;
    (void)size_bytes;
    script.retire_calls++;
    return answer_call(NULL);
}

static enum target_result fake_locate(struct target_instance *instance, uint64_t handle,
                                      struct target_block *block)
{
    (void)instance;
    *block = script.at[handle];
    return script.is_silent || block->address == TARGET_ADDRESS_NONE ? TARGET_INVALID : TARGET_OK;
}

static void fake_stats(struct target_instance *instance, struct target_stats *stats)
{
    const struct model *model = run_model(script.run, instance->host);
    const struct model_counters *is = model_counters(model);
    const struct target_stats *more = &script.stats_more;
    script.stats_calls++;
    *stats = (struct target_stats){
        .num_allocs = is->block_count + more->num_allocs,
        .bytes_in_use = is->in_use_bytes + more->bytes_in_use,
        .peak_bytes_in_use = is->peak_low_bytes + more->peak_bytes_in_use,
        .largest_alloc_size = is->largest_block_bytes + more->largest_alloc_size,
        .bytes_limit = model_capacity_bytes(model) + more->bytes_limit,
        .bytes_reserved = is->reserved_bytes + more->bytes_reserved,
        .peak_bytes_reserved = is->peak_reserved_bytes + more->peak_bytes_reserved,
        .largest_free_block_bytes = model_largest_hole_bytes(model) +
                                    more->largest_free_block_bytes,
        .free_bytes = more->free_bytes,
        .used_bytes = more->used_bytes,
        .evictable_bytes = more->evictable_bytes,
        .held_bytes = more->held_bytes,
    };
}

static void fake_report(struct target_instance *instance,
                        void (*row)(void *context, const struct target_row *row), void *context)
{
    do_act();
    const struct device_services *device = script.device[instance->host];
    script.report_count++;
    void *room = script.sorts_report ? device->host_alloc(device->context, 64) : NULL;
    ck_assert(!script.sorts_report || room != NULL);
    device->host_free(device->context, room, 64);
    for (int i = 0; i < script.row_count; i++) {
        row(context, &script.rows[i]);
    }
    if (script.row_count >= 0) {
        return;
    }
    const struct model *model = run_model(script.run, instance->host);
    const struct span_map *map = model_map(model);
    struct span span;
    EACH_SPAN(map, &span) {
        const struct block *block = model_block(model, (uint32_t)span.owner);
        row(context, &(struct target_row){block->address, block->size_bytes,
                                          (enum block_kind)block->kind, block->tag});
    }
    for (size_t i = 0; i < model_absent_count(model); i++) {
        const struct block *block = model_block(model, model_absent_slot(model, i));
        row(context, &(struct target_row){TARGET_ADDRESS_NONE, block->size_bytes,
                                          (enum block_kind)block->kind, block->tag});
    }
}

static enum target_result fake_record(struct target_instance *instance, uint64_t id)
{
    (void)instance;
    ck_assert_uint_ne(id, 0);
    return answer_call(NULL);
}

static const char *fake_message(struct target_instance *instance)
{
    (void)instance;
    return script.message;
}

const struct target scripted_target = {
    .abi_version = TARGET_ABI_VERSION,
    .size_bytes = sizeof(struct target),
    .name = "scripted",
    .summary = "answers what the test says",
    .open = fake_open,
    .close = fake_close,
    .alloc = fake_alloc,
    .free = fake_free,
    .use = fake_use,
    .hold = fake_on_handle,
    .release = fake_on_handle,
    .donate = fake_donate,
    .load = fake_load,
    .execute = fake_execute,
    .unload = fake_on_handle,
    .defragment = fake_defragment,
    .retire = fake_retire,
    .locate = fake_locate,
    .stats = fake_stats,
    .report = fake_report,
    .message = fake_message,
    .sleep = fake_defragment,
    .wake = fake_defragment,
    .record_begin = fake_record,
    .record_end = fake_record,
    .record_drop = fake_record,
};

static struct target own_target;

/* --- the rig --- */

/* 16 granules; every mitigation is promised. */
void prepare(void)
{
    memset(&script, 0, sizeof script);
    script.contract = (struct target_contract){.granule_bytes = G,
                                               .defrag = DEFRAG_SLIDE,
                                               .queues_frees = true,
                                               .drains = true,
                                               .programs = true,
                                               .evicts = true};
    script.message = "no memory";
    script.row_count = -1;
}

struct run *open_setup(const struct setup *setup, const struct target *target,
                       char reason[RUN_REASON_BYTES])
{
    const struct target_contract *contract = &script.contract;
    own_target = scripted_target;
    if (script.is_blind) {
        own_target.locate = NULL;
    }
    if (contract->regions.grows || contract->stream_ordered || contract->records) {
        own_target.retire = NULL; /* which no such target has */
    }
    return run_create(target == NULL ? &own_target : target, setup, reason);
}

void start_setup(const struct setup *setup, const struct target *target)
{
    char reason[RUN_REASON_BYTES] = "";
    script.run = open_setup(setup, target, reason);
    ck_assert_msg(script.run != NULL, "%s", reason);
}

void start_hosts(uint32_t host_count)
{
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    setup.host_count = host_count;
    start_setup(&setup, NULL);
}

void start(void)
{
    prepare();
    start_hosts(1);
}

void stop(void)
{
    run_destroy(script.run);
}

const struct verdict *step(struct op op)
{
    return run_step(script.run, &op);
}

static uint64_t next_handle(void)
{
    return run_ops(script.run)->count + 1;
}

const struct verdict *alloc_at(uint64_t at, uint64_t size)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size * G;
    script.block = (struct target_block){next_handle(), at * G, size * G};
    return step(op);
}

const struct verdict *load_at(uint64_t at, uint64_t size, uint64_t stack)
{
    struct op op = op_make(OP_LOAD);
    op.size_bytes = size * G;
    op.stack_bytes = stack * G;
    script.block = (struct target_block){next_handle(), at * G, size * G};
    return step(op);
}

const struct verdict *refuse(uint64_t size)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size * G;
    script.result = TARGET_NO_MEMORY;
    return step(op);
}

const struct verdict *on(enum op_kind kind, uint32_t ref)
{
    struct op op = op_make(kind);
    op.ref = ref;
    return step(op);
}

const struct verdict *report(void)
{
    return step(op_make(OP_REPORT));
}

/* --- what an act does --- */

enum device_result copy(uint64_t from, uint64_t to, uint64_t size)
{
    return script.device[0]->copy(script.device[0]->context, from * G, to * G, size * G);
}
