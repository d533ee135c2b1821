/* libhbm behind the harness's table of calls.  Each call is one call of libhbm, but for sleep and
 * wake, which libhbm knows nothing of: no address changes. */
#include "targets/private/option.h"
#include "targets/private/sleeper.h"
#include "targets/targets.h"

#include "allocator/hbm.h"

#include <stdio.h>

struct target_instance {
    struct hbm *hbm;
    struct device_services device;
    enum sleep_contract sleeps;
    struct sleeper sleeper;
    const char *text;           /* of the last call, a sleep or wake that failed; NULL = libhbm's */
    bool counts_owners, evicts; /* some request evicts */
};

/* --- services: the same calls under other names --- */

static enum hbm_service_result convert_device_result(enum device_result result)
{
    return result == DEVICE_OK        ? HBM_SERVICE_OK
           : result == DEVICE_LOST    ? HBM_SERVICE_LOST
           : result == DEVICE_PARTIAL ? HBM_SERVICE_PARTIAL
                                      : HBM_SERVICE_REFUSED;
}

/* Defines a service of libhbm: the device's of that name, with its result in the other's words. */
#define FORWARD(type, convert, name, parameters, arguments)                                        \
    static type service_##name parameters                                                          \
    {                                                                                              \
        const struct device_services *device = &((const struct target_instance *)context)->device; \
        return convert(device->name arguments);                                                    \
    }
#define FORWARD_CALL(name, parameters, arguments) \
    FORWARD(enum hbm_service_result, convert_device_result, name, parameters, arguments)

FORWARD_CALL(copy, (void *context, uint64_t from, uint64_t to, uint64_t bytes),
             (device->context, from, to, bytes))
FORWARD_CALL(stage_out, (void *context, uint64_t from, uint64_t bytes, uint64_t *token),
             (device->context, from, bytes, token))
FORWARD_CALL(event_wait, (void *context, uint64_t event), (device->context, event))
FORWARD_CALL(unload, (void *context, uint64_t program_id), (device->context, program_id))
FORWARD(uint64_t, , completed_count, (void *context), (device->context))
FORWARD(bool, , event_done, (void *context, uint64_t event), (device->context, event))
FORWARD(uint64_t, , clock_ns, (void *context), (device->context))
FORWARD(void *, , host_alloc, (void *context, size_t bytes), (device->context, bytes))

/* The stage knows its size. */
static enum hbm_service_result service_stage_in(void *context, uint64_t token, uint64_t to,
                                                uint64_t bytes)
{
    const struct target_instance *instance = context;
    (void)bytes;
    return convert_device_result(instance->device.stage_in(instance->device.context, token, to));
}

static void service_stage_drop(void *context, uint64_t token)
{
    const struct target_instance *instance = context;
    instance->device.stage_drop(instance->device.context, token);
}

static void service_host_free(void *context, void *memory, size_t bytes)
{
    const struct target_instance *instance = context;
    instance->device.host_free(instance->device.context, memory, bytes);
}

static struct hbm_services make_services(struct target_instance *instance)
{
    return (struct hbm_services){
        .context = instance,
        .copy = service_copy,
        .stage_out = service_stage_out,
        .stage_in = service_stage_in,
        .stage_drop = service_stage_drop,
        .completed_count = service_completed_count,
        .event_done = service_event_done,
        .event_wait = service_event_wait,
        .unload = service_unload,
        .clock_ns = service_clock_ns,
        .host_alloc = service_host_alloc,
        .host_free = service_host_free,
    };
}

/* --- options --- */

static void print_line(void *context, const char *text)
{
    (void)fprintf(context, "%s\n", text);
}

/* The values of the options: those that are promises stand in the contract. */
struct hbm_target_options {
    struct target_contract contract;
    bool log_allocations_on_oom, message_code;
    uint64_t search_nodes_max; /* 0 = libhbm's own */
    enum target_growth cost;   /* that is declared of device calls and memory accesses */
};

#define AT struct hbm_target_options
static const struct target_option_row option_rows[] = {
    OPTION_WORDS("defrag", "none|slide|repack", AT, contract.defrag),
    OPTION_GRANULE(AT, contract.granule_bytes),
    {"order", TARGET_OPTION_ORDER, "drain,defragment,evict", MITIGATION_DRAIN,
     OPTION_AT(AT, contract.order)},
    OPTION_YES_NO("drains", AT, contract.drains),
    OPTION_YES_NO("evicts", AT, contract.evicts),
    OPTION_YES_NO("program_evicts_program", AT, contract.program_evicts_program),
    OPTION_YES_NO("log_allocations_on_oom", AT, log_allocations_on_oom),
    OPTION_YES_NO("message_code", AT, message_code),
    {"search_nodes", TARGET_OPTION_SIZE, "N", 1, OPTION_AT(AT, search_nodes_max)},
    OPTION_WORDS("sleep", "none|keeps|discards", AT, contract.sleeps),
    OPTION_YES_NO("order_binds", AT, contract.order_binds),
    OPTION_YES_NO("owners", AT, contract.counts_owners),
    OPTION_WORDS("cost", OPTION_GROWTHS, AT, cost),
    {"latency", TARGET_OPTION_SIZE, "CALLS", 1, OPTION_AT(AT, contract.latency.calls_max)},
    {.key = NULL}};

/* Evictions move blocks as they go, so only what comes before them is in order. */
static bool has_documented_order(const enum mitigation order[MITIGATION_ORDER_COUNT])
{
    return order[0] == MITIGATION_DRAIN && order[1] == MITIGATION_DEFRAGMENT &&
           order[2] == MITIGATION_EVICT;
}

static bool read_options(struct hbm_target_options *options, const struct target_setup *setup,
                         const struct option_reason *reason)
{
    struct target_contract *contract = &options->contract;
    *options = (struct hbm_target_options){
        .contract = {.granule_bytes = setup->granule_bytes != 0 ? setup->granule_bytes : 512,
                     .defrag = DEFRAG_REPACK,
                     .queues_frees = true,
                     .drains = true,
                     .programs = true,
                     .evicts = true,
                     .documented_messages = true,
                     .thread_safe = true,
                     .resumes = true,
                     .order = {MITIGATION_DRAIN, MITIGATION_DEFRAGMENT, MITIGATION_EVICT}}};
    if (!target_options_read(option_rows, setup, options, reason->text, reason->bytes) ||
        !option_check_device(setup->capacity_bytes, contract->granule_bytes, reason)) {
        return false;
    }
    contract->order_binds = contract->order_binds && has_documented_order(contract->order);
    contract->cost = (struct target_cost){.calls = options->cost, .accesses = options->cost};
    contract->latency.per_mille = contract->latency.calls_max > 0 ? 1000 : 0;
    return true;
}

static struct hbm_options make_options(const struct hbm_target_options *given,
                                       const struct target_setup *setup)
{
    static const enum hbm_defrag defrags[] = {[DEFRAG_NONE] = HBM_DEFRAG_NONE,
                                              [DEFRAG_SLIDE] = HBM_DEFRAG_SLIDE,
                                              [DEFRAG_REPACK] = HBM_DEFRAG_REPACK};
    static const enum hbm_mitigation mitigations[] = {[MITIGATION_DRAIN] = HBM_DRAIN,
                                                      [MITIGATION_DEFRAGMENT] = HBM_DEFRAGMENT,
                                                      [MITIGATION_EVICT] = HBM_EVICT};
    const struct target_contract *contract = &given->contract;
    struct hbm_options options;
    hbm_options_init(&options);
    options.capacity_bytes = setup->capacity_bytes;
    options.granule_bytes = (uint32_t)contract->granule_bytes;
    options.defrag = defrags[contract->defrag];
    for (unsigned i = 0; i < HBM_MITIGATION_COUNT; i++) {
        options.order[i] = mitigations[contract->order[i]];
    }
    options.drains = contract->drains;
    options.evicts = contract->evicts;
    options.program_evicts_program = contract->program_evicts_program;
    options.search_nodes_max = given->search_nodes_max != 0 ? given->search_nodes_max
                                                            : options.search_nodes_max;
    options.log_allocations_on_oom = given->log_allocations_on_oom;
    options.sink = (struct hbm_sink){print_line, stderr};
    options.code_shown = given->message_code;
    options.coordinate = (struct hbm_coordinate){true, setup->coordinate[0], setup->coordinate[1],
                                                 setup->coordinate[2], setup->coordinate[3]};
    return options;
}

/* --- life --- */

static enum target_result target_open(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **out,
                                      struct target_contract *contract, char *text,
                                      size_t text_bytes)
{
    const struct option_reason reason = {text, text_bytes};
    struct hbm_target_options given;
    if (!read_options(&given, setup, &reason)) {
        return TARGET_INVALID;
    }
    struct target_instance *instance = device->host_alloc(device->context, sizeof *instance);
    if (instance == NULL) {
        (void)snprintf(text, text_bytes, "the host memory for libhbm was refused");
        return TARGET_FAILED;
    }
    *instance = (struct target_instance){.device = *device,
                                         .sleeps = given.contract.sleeps,
                                         .counts_owners = given.contract.counts_owners,
                                         .evicts = given.contract.evicts ||
                                                   given.contract.program_evicts_program};
    sleeper_init(&instance->sleeper, device, setup->capacity_bytes);
    const struct hbm_services services = make_services(instance);
    const struct hbm_options options = make_options(&given, setup);
    const enum hbm_result result = hbm_create(&services, &options, &instance->hbm);
    if (result != HBM_OK) {
        (void)snprintf(text, text_bytes, "libhbm did not open: %s", hbm_result_name(result));
        device->host_free(device->context, instance, sizeof *instance);
        return result == HBM_INVALID ? TARGET_INVALID : TARGET_FAILED;
    }
    *contract = given.contract;
    *out = instance;
    return TARGET_OK;
}

static void target_close(struct target_instance *instance)
{
    const struct device_services device = instance->device;
    hbm_destroy(instance->hbm);
    sleeper_deinit(&instance->sleeper);
    device.host_free(device.context, instance, sizeof *instance);
}

/* Returns libhbm's answer to the call that is the last from now on. */
static enum target_result answer(struct target_instance *instance, enum hbm_result result)
{
    if (instance->text != NULL) {
        instance->text = NULL;
    }
    return result == HBM_OK          ? TARGET_OK
           : result == HBM_NO_MEMORY ? TARGET_NO_MEMORY
           : result == HBM_INVALID   ? TARGET_INVALID
                                     : TARGET_FAILED;
}

/* --- handles --- */

/* Both kinds of handle are pointers to at least two bytes of alignment, so the lowest bit says
 * which. */
#define PROGRAM_BIT ((uint64_t)1)

static struct hbm_buffer *buffer_of(uint64_t handle)
{
    return (struct hbm_buffer *)(uintptr_t)handle;
}

static struct hbm_program *program_of(uint64_t handle)
{
    return (struct hbm_program *)(uintptr_t)(handle & ~PROGRAM_BIT);
}

static struct target_block block_of_buffer(struct target_instance *instance,
                                           struct hbm_buffer *buffer)
{
    return (struct target_block){(uint64_t)(uintptr_t)buffer,
                                 hbm_buffer_address(instance->hbm, buffer),
                                 hbm_buffer_size(instance->hbm, buffer)};
}

static struct target_block block_of_program(struct target_instance *instance,
                                            struct hbm_program *program)
{
    return (struct target_block){(uint64_t)(uintptr_t)program | PROGRAM_BIT,
                                 hbm_program_address(instance->hbm, program),
                                 hbm_program_size(instance->hbm, program)};
}

/* --- buffers --- */

static struct hbm_request make_request(const struct target_request *request)
{
    return (struct hbm_request){
        .size_bytes = request->size_bytes,
        .align_bytes = request->align_bytes,
        .kind = request->kind == BLOCK_OUTPUT ? HBM_KIND_OUTPUT : HBM_KIND_BUFFER,
        .unpadded_bytes = request->unpadded_bytes,
        .tag = (int32_t)request->tag,
        .tag_name = request->tag_name,
    };
}

static enum target_result target_alloc(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    const struct hbm_request asked = make_request(request);
    struct hbm_buffer *buffer = NULL;
    const enum hbm_result result = hbm_allocate(instance->hbm, &asked, &buffer);
    if (result == HBM_OK) {
        *block = block_of_buffer(instance, buffer);
    }
    return answer(instance, result);
}

static enum target_result target_free(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    if (event != 0) {
        return answer(instance, hbm_free_after(instance->hbm, buffer_of(handle), event));
    }
    hbm_free(instance->hbm, buffer_of(handle));
    return TARGET_OK;
}

static enum target_result target_use(struct target_instance *instance, uint64_t handle,
                                     uint64_t event)
{
    return answer(instance, hbm_use(instance->hbm, buffer_of(handle), event));
}

static enum target_result target_hold(struct target_instance *instance, uint64_t handle)
{
    return answer(instance, hbm_hold(instance->hbm, buffer_of(handle)));
}

static enum target_result target_release(struct target_instance *instance, uint64_t handle)
{
    return answer(instance, hbm_release(instance->hbm, buffer_of(handle)));
}

static enum target_result target_donate(struct target_instance *instance, uint64_t handle,
                                        const struct target_request *request,
                                        struct target_block *block)
{
    const struct hbm_request asked = make_request(request);
    struct hbm_buffer *buffer = NULL;
    const enum hbm_result result = hbm_donate(instance->hbm, buffer_of(handle), &asked, &buffer);
    if (result == HBM_OK) {
        *block = block_of_buffer(instance, buffer);
    }
    return answer(instance, result);
}

/* --- programs --- */

static enum target_result target_load(struct target_instance *instance,
                                      const struct target_program *asked,
                                      struct target_block *image)
{
    const struct hbm_program_request request = {asked->id, asked->image_bytes, asked->stack_bytes,
                                                asked->name};
    struct hbm_program *program = NULL;
    const enum hbm_result result = hbm_program_load(instance->hbm, &request, &program);
    if (result == HBM_OK) {
        *image = block_of_program(instance, program);
    }
    return answer(instance, result);
}

static enum target_result target_execute(struct target_instance *instance, uint64_t handle,
                                         uint64_t event, struct target_block *image)
{
    const enum hbm_result result = hbm_execute(instance->hbm, program_of(handle), event);
    if (result == HBM_OK) {
        *image = block_of_program(instance, program_of(handle));
    }
    return answer(instance, result);
}

static enum target_result target_unload(struct target_instance *instance, uint64_t handle)
{
    hbm_program_unload(instance->hbm, program_of(handle));
    return TARGET_OK;
}

/* --- moves, counters, reports --- */

static enum target_result target_defragment(struct target_instance *instance)
{
    return answer(instance, hbm_defragment(instance->hbm));
}

static enum target_result target_retire(struct target_instance *instance, uint64_t address,
                                        uint64_t size_bytes)
{
    return answer(instance, hbm_retire(instance->hbm, address, size_bytes));
}

static enum target_result target_locate(struct target_instance *instance, uint64_t handle,
                                        struct target_block *block)
{
    const struct target_block found = (handle & PROGRAM_BIT) != 0
                                          ? block_of_program(instance, program_of(handle))
                                          : block_of_buffer(instance, buffer_of(handle));
    if (found.address == HBM_ADDRESS_NONE) {
        return TARGET_INVALID;
    }
    *block = found;
    return TARGET_OK;
}

/* O(blocks). */
static void count_owners(struct target_instance *instance, struct target_stats *stats)
{
    uint64_t bytes[HBM_STATE_COUNT];
    hbm_report_sum(instance->hbm, bytes);
    const uint64_t idle = bytes[HBM_STATE_PROGRAM_IDLE];
    stats->free_bytes = stats->bytes_limit - stats->bytes_in_use - stats->bytes_reserved;
    stats->evictable_bytes = instance->evicts ? idle : 0;
    stats->used_bytes = bytes[HBM_STATE_MOVABLE] + (instance->evicts ? 0 : idle);
    stats->held_bytes = bytes[HBM_STATE_HELD] + bytes[HBM_STATE_DYING] +
                        bytes[HBM_STATE_PROGRAM_BUSY] + bytes[HBM_STATE_RETIRED] +
                        stats->bytes_reserved;
}

static void target_stats(struct target_instance *instance, struct target_stats *out)
{
    struct hbm_stats stats;
    hbm_stats(instance->hbm, &stats);
    out->num_allocs = stats.num_allocs;
    out->bytes_in_use = stats.bytes_in_use;
    out->peak_bytes_in_use = stats.peak_bytes_in_use;
    out->largest_alloc_size = stats.largest_alloc_size;
    out->bytes_limit = stats.bytes_limit;
    out->bytes_reserved = stats.bytes_reserved;
    out->peak_bytes_reserved = stats.peak_bytes_reserved;
    out->bytes_reservable_limit = stats.bytes_reservable_limit;
    out->largest_free_block_bytes = stats.largest_free_block_bytes;
    out->free_bytes = out->used_bytes = out->evictable_bytes = out->held_bytes = 0;
    if (instance->counts_owners) {
        count_owners(instance, out);
    }
}

enum { REPORT_TRY_COUNT = 3 };

/* The receiver of a report's rows. */
struct row_sink {
    void (*row)(void *context, const struct target_row *row);
    void *context;
};

static void visit_entry(void *context, const struct hbm_report_entry *entry)
{
    static const enum block_kind kinds[] = {[HBM_KIND_BUFFER] = BLOCK_BUFFER,
                                            [HBM_KIND_OUTPUT] = BLOCK_OUTPUT,
                                            [HBM_KIND_PROGRAM] = BLOCK_PROGRAM,
                                            [HBM_KIND_RETIRED] = BLOCK_RETIRED};
    const struct row_sink *sink = context;
    const struct target_row row = {entry->address, entry->size_bytes, kinds[entry->kind],
                                   (uint32_t)entry->tag};
    sink->row(sink->context, &row);
}

static void target_report(struct target_instance *instance,
                          void (*row)(void *context, const struct target_row *row), void *context)
{
    struct row_sink sink = {row, context};
    /* It needs host memory to sort in, and says so before the first row.  The table has no way to
     * pass a refusal on, so a momentary one is tried over. */
    for (unsigned i = 0;
         i < REPORT_TRY_COUNT && hbm_report_visit(instance->hbm, visit_entry, &sink) != HBM_OK;
         i++) {
    }
}

/* --- sleep --- */

struct hbm_saving {
    struct sleeper *sleeper;
    bool is_good;
};

static void save_entry(void *context, const struct hbm_report_entry *entry)
{
    struct hbm_saving *saving = context;
    saving->is_good = saving->is_good &&
                      (entry->kind == HBM_KIND_RETIRED ||
                       sleeper_save(saving->sleeper, entry->address, entry->size_bytes));
}

static enum target_result refuse(struct target_instance *instance, const char *text)
{
    instance->text = text;
    return TARGET_FAILED;
}

static enum target_result target_sleep(struct target_instance *instance)
{
    struct hbm_saving saving = {&instance->sleeper, true};
    instance->text = NULL;
    if (instance->sleeps == SLEEP_KEEPS &&
        (hbm_report_visit(instance->hbm, save_entry, &saving) != HBM_OK || !saving.is_good)) {
        sleeper_drop(&instance->sleeper);
        return refuse(instance, "UNAVAILABLE: cannot sleep: the contents cannot be saved");
    }
    sleeper_release(&instance->sleeper);
    return TARGET_OK;
}

static enum target_result target_wake(struct target_instance *instance)
{
    instance->text = NULL;
    return sleeper_restore(&instance->sleeper)
               ? TARGET_OK
               : refuse(instance, "UNAVAILABLE: cannot wake: the device refused its memory");
}

static const char *target_message(struct target_instance *instance)
{
    return instance->text != NULL ? instance->text : hbm_error(instance->hbm);
}

const struct target target_hbm = {
    .abi_version = TARGET_ABI_VERSION,
    .size_bytes = sizeof(struct target),
    .name = "hbm",
    .summary = "libhbm, the reference allocator with the documented XLA:TPU mitigations",
    .options = option_rows,
    .open = target_open,
    .close = target_close,
    .alloc = target_alloc,
    .free = target_free,
    .use = target_use,
    .hold = target_hold,
    .release = target_release,
    .donate = target_donate,
    .load = target_load,
    .execute = target_execute,
    .unload = target_unload,
    .defragment = target_defragment,
    .retire = target_retire,
    .locate = target_locate,
    .stats = target_stats,
    .report = target_report,
    .message = target_message,
    .sleep = target_sleep,
    .wake = target_wake,
};
