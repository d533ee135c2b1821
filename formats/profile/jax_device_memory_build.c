/* Groups of blocks become ops: as many requests as there are blocks, buffers first. */
#include "formats/profile/private/jax_device_memory.h"

#include "formats/common/tags.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The first number in a device's name: 5 of "TPU_5(process=0,(0,1,0,1))" and of "gpu:5".
 * UINT64_MAX: it has none. */
static uint64_t parse_device_number(const char *name)
{
    const char *digit = strpbrk(name, "_:");
    uint64_t number = 0;
    while (digit != NULL && (digit[1] < '0' || digit[1] > '9')) {
        digit = strpbrk(digit + 1, "_:");
    }
    if (digit == NULL) {
        return UINT64_MAX;
    }
    for (digit++; *digit >= '0' && *digit <= '9' && number < UINT64_MAX / 16; digit++) {
        number = number * 10 + (uint64_t)(*digit - '0');
    }
    return number;
}

/* Hosts by the numbers in their names, on equal ones as they came: hosts[device] is the host. */
static void number_hosts(const struct name_table *devices, uint8_t hosts[OP_HOST_COUNT_MAX])
{
    for (size_t i = 0; i < devices->count; i++) {
        const uint64_t number = parse_device_number(devices->names[i].text);
        hosts[i] = 0;
        for (size_t j = 0; j < devices->count; j++) {
            const uint64_t other = parse_device_number(devices->names[j].text);
            hosts[i] = (uint8_t)(hosts[i] + (other < number || (other == number && j < i)));
        }
    }
}

static void append_all(const struct snapshot *snapshot, const uint8_t *hosts, const uint8_t *tags,
                       struct import *import)
{
    for (size_t i = 0; i < 2 * snapshot->group_count; i++) { /* buffers first */
        const struct jax_group *group = &snapshot->groups[i % snapshot->group_count];
        if (group->is_program != (i >= snapshot->group_count)) {
            continue;
        }
        struct op op = OP_TO_MAKE(group->is_program ? OP_LOAD : OP_ALLOC,
                                  .host = group->is_program ? 0 : hosts[group->device],
                                  .tag = group->tag == JAX_NO_TAG ? 0 : tags[group->tag]);
        for (uint64_t block = 0; block < group->count; block++) {
            op.size_bytes = group->bytes / group->count + (block < group->bytes % group->count);
            stacks_say(import->stacks, import_append(import, &op), group->stack);
        }
    }
}

/* The most that a device holds in granules. */
static uint64_t find_largest_device(const struct import *import)
{
    uint64_t sums[OP_HOST_COUNT_MAX] = {0};
    uint64_t largest = 0;
    const uint64_t mask = import->setup.granule_bytes - 1;
    for (size_t i = 0; i < import->ops.count; i++) {
        const struct op *op = &import->ops.ops[i];
        sums[op->host] += (op->size_bytes + mask) & ~mask;
        largest = sums[op->host] > largest ? sums[op->host] : largest;
    }
    return largest;
}

static enum import_result choose_device(const struct snapshot *snapshot,
                                        const struct import_input *input, struct import *import)
{
    import->setup.host_count = snapshot->devices.count == 0 ? 1 : (uint32_t)snapshot->devices.count;
    import->setup.granule_bytes = capacity_granule(snapshot->size_bits);
    import_apply_fixed(input->fixed, &import->setup);
    if (import->setup.capacity_bytes != 0) {
        return IMPORT_OK;
    }
    import->setup.capacity_bytes = find_largest_device(import);
    if (import->setup.capacity_bytes > IMPORT_CAPACITY_MAX) {
        return IMPORT_REFUSE(snapshot->error, 0,
                             "in granules of %" PRIu64
                             " bytes, a device holds more than 2^50 bytes",
                             import->setup.granule_bytes);
    }
    import_assume(
        import,
        "capacity %" PRIu64
        ", the most that a device holds; no memory is spare, and the profile does not name the chip",
        import->setup.capacity_bytes);
    return IMPORT_OK;
}

static void note_devices(const struct snapshot *snapshot, const uint8_t *hosts,
                         struct import *import)
{
    char list[400];
    size_t used = 0;
    list[0] = '\0';
    for (size_t host = 0; host < snapshot->devices.count && used < sizeof list; host++) {
        size_t device = 0;
        while (hosts[device] != host) {
            device++;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu = %s, %" PRIu64,
                                 host == 0 ? "" : "; ", host, snapshot->devices.names[device].text,
                                 snapshot->device_bytes[device]);
    }
    if (used >= sizeof list) {
        memcpy(list + sizeof list - sizeof "...", "...", sizeof "...");
    }
    if (used > 0) {
        import_note(import, "devices, and the bytes of their buffers: %s", list);
    }
}

/* JAX names its devices: "TPU_0(process=0,(0,0,0,0))", "gpu:0", "cuda:0". */
static void name_system(const struct snapshot *snapshot, struct import *import)
{
    static const struct {
        const char *begin, *system;
    } known[] = {{"TPU", "xla_tpu"},
                 {"gpu", "xla_gpu"},
                 {"cuda", "xla_gpu"},
                 {"rocm", "xla_gpu"},
                 {"TFRT_CPU", "host"}};
    for (size_t i = 0; snapshot->devices.count > 0 && i < sizeof known / sizeof known[0]; i++) {
        if (strncasecmp(snapshot->devices.names[0].text, known[i].begin, strlen(known[i].begin)) ==
            0) {
            snprintf(import->setup.system, sizeof import->setup.system, "%s", known[i].system);
        }
    }
}

static void add_notes(const struct snapshot *snapshot, const uint8_t *hosts, struct import *import)
{
    name_system(snapshot, import);
    import_note(import,
                "live at one moment: %" PRIu64 " buffers of %" PRIu64 " bytes, %" PRIu64
                " executables of "
                "%" PRIu64 " bytes",
                snapshot->buffer_count, snapshot->buffer_bytes, snapshot->program_count,
                snapshot->program_bytes);
    note_devices(snapshot, hosts, import);
    import_assume(
        import,
        "the places of the buffers and their order; all buffers of one Python stack have the same size");
    import_note(import, "the failed request, if any, is not in the profile");
    if (snapshot->program_count > 0) {
        import_assume(import, "all executables are on device 0");
    }
    if (snapshot->unknown_count > 0) {
        import_note(import, "left out: %" PRIu64 " executables or buffers of unknown size (-1)",
                    snapshot->unknown_count);
    }
    if (snapshot->empty_count > 0) {
        import_note(import, "left out: %" PRIu64 " executables or buffers of 0 bytes",
                    snapshot->empty_count);
    }
    if (snapshot->uneven_count > 0) {
        import_note(
            import,
            "of %" PRIu64
            " stacks, the bytes are not a multiple of the blocks: some of these have one byte more",
            snapshot->uneven_count);
    }
}

enum import_result jax_device_memory_build(const struct snapshot *snapshot,
                                           const struct import_input *input, struct import *import)
{
    uint8_t hosts[OP_HOST_COUNT_MAX];
    /* Names of no bytes are frames that were passed on the way to the user's. */
    uint8_t *tags = name_table_give_tags(&snapshot->tags, tag_by_rank, &import->setup);
    number_hosts(&snapshot->devices, hosts);
    append_all(snapshot, hosts, tags, import);
    free(tags);
    add_notes(snapshot, hosts, import);
    return choose_device(snapshot, input, import);
}
