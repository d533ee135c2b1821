/* Functions that the parts of the importer share: on the snapshot itself, its places in the file,
 * and its blocks by address. */
#include "formats/torch/private/torch.h"

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void torch_snapshot_init(struct torch_snapshot *snapshot)
{
    memset(snapshot, 0, sizeof *snapshot);
}

void torch_snapshot_deinit(struct torch_snapshot *snapshot)
{
    torch_names_deinit(&snapshot->names);
    free(snapshot->stacks.known.known);
    free(snapshot->blocks);
    free(snapshot->events);
}

uint64_t torch_rounded(const struct torch_snapshot *snapshot, uint64_t size_bytes)
{
    return (size_bytes + snapshot->granule_bytes - 1) / snapshot->granule_bytes *
           snapshot->granule_bytes;
}

enum import_result torch_fail_event(struct import_error *error, const struct torch_event *event,
                                    const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES / 2];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    return import_fail(error, IMPORT_INVALID, 0, 0, "device_traces[%u][%" PRIu32 "]: %s",
                       event->host, event->index, text);
}

enum import_result torch_fail_block(struct import_error *error, const struct torch_block *block,
                                    const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES / 2];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    return import_fail(error, IMPORT_INVALID, 0, 0, "segments[%" PRIu32 "].blocks[%" PRIu32 "]: %s",
                       block->segment, block->index, text);
}

/* A total order: places in the file break ties. */
static int compare_blocks(const void *a, const void *b)
{
    const struct torch_block *x = a;
    const struct torch_block *y = b;
    const int order = compare_places(x->host, x->address, y->host, y->address);
    return order != 0 ? order : compare_places(x->segment, x->index, y->segment, y->index);
}

enum import_result torch_sort_blocks(struct torch_snapshot *snapshot, struct import_error *error)
{
    if (snapshot->block_count > 0) {
        qsort(snapshot->blocks, snapshot->block_count, sizeof *snapshot->blocks, compare_blocks);
    }
    for (size_t i = 1; i < snapshot->block_count; i++) {
        const struct torch_block *before = &snapshot->blocks[i - 1];
        const struct torch_block *block = &snapshot->blocks[i];
        if (before->host == block->host && block->address - before->address < before->size_bytes) {
            return torch_fail_block(error, block,
                                    "it begins at %" PRIu64 ", inside segments[%" PRIu32
                                    "].blocks[%" PRIu32 "]",
                                    block->address, before->segment, before->index);
        }
    }
    return IMPORT_OK;
}

struct torch_block *torch_find_block(const struct torch_snapshot *snapshot, uint8_t host,
                                     uint64_t address)
{
    struct torch_block *blocks = snapshot->blocks;
    size_t i;
    SEARCH_FIRST(i, 0, snapshot->block_count,
                 compare_places(blocks[i].host, blocks[i].address, host, address) >= 0);
    return i < snapshot->block_count && blocks[i].host == host && blocks[i].address == address
               ? &blocks[i]
               : NULL;
}

bool torch_has_trace(const struct torch_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->event_count; i++) {
        if (snapshot->events[i].action <= TORCH_FREE_COMPLETED) {
            return true;
        }
    }
    return false;
}
