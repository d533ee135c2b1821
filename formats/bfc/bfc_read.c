/* From lines to a dump.  The parts of a dump come in one order, so a line of an earlier part begins
 * another dump. */
#include "formats/bfc/private/bfc.h"
#include "harness/base/array.h"

#include <stdlib.h>

void bfc_dump_deinit(struct bfc_dump *dump)
{
    free(dump->regions);
    free(dump->chunks);
    free(dump->summaries);
    *dump = (struct bfc_dump){.last = BFC_LINE_NONE};
}

void bfc_dump_clear(struct bfc_dump *dump)
{
    const struct bfc_dump memory = *dump;
    *dump = (struct bfc_dump){
        .regions = memory.regions,
        .region_room = memory.region_room,
        .chunks = memory.chunks,
        .chunk_room = memory.chunk_room,
        .summaries = memory.summaries,
        .summary_room = memory.summary_room,
    };
}

/* --- the parts --- */

static void set_wrong(struct bfc_dump *dump, const char *reason, size_t number)
{
    if (dump->wrong == NULL) {
        dump->wrong = reason;
        dump->wrong_line = number;
    }
}

static void take_request(struct bfc_dump *dump, const struct bfc_line *line, size_t number)
{
    dump->name = line->name;
    dump->operation = line->operation;
    dump->requested = line->sizes[0];
    dump->rounded_bytes = line->size_bytes;
    dump->request_line = number;
}

/* The bin whose smallest size that is; BFC_BIN_COUNT: there is none. */
static size_t find_bin_index(uint64_t size_bytes)
{
    size_t index = 0;
    while (index < BFC_BIN_COUNT && (uint64_t)BFC_GRANULE_BYTES << index != size_bytes) {
        index++;
    }
    return index;
}

static void take_part(struct bfc_dump *dump, const struct bfc_line *line, size_t number)
{
    size_t bin = 0;
    switch (line->kind) {
    case BFC_LINE_REQUEST:
        take_request(dump, line, number);
        return;
    case BFC_LINE_NAME:
        dump->name = line->name;
        return;
    case BFC_LINE_BIN:
        bin = find_bin_index(line->size_bytes);
        if (bin == BFC_BIN_COUNT) {
            set_wrong(dump, "there is no bin of that size", number);
            return;
        }
        dump->bins[bin] = (struct bfc_bin){
            .count = line->count,
            .in_use_count = line->in_use_count,
            .sizes = {line->sizes[0], line->sizes[1]},
            .line = number,
            .counts_free_only = line->counts_free_only,
        };
        return;
    case BFC_LINE_BIN_FOR:
        dump->bin_for = line->sizes[0];
        dump->bin_for_line = number;
        return;
    case BFC_LINE_REGION:
        ARRAY_ADD(dump->regions, dump->region_count, dump->region_room) = (struct bfc_region){
            .size_bytes = line->size_bytes, .first_chunk = dump->chunk_count, .line = number};
        return;
    case BFC_LINE_CHUNK:
        ARRAY_ADD(dump->chunks, dump->chunk_count, dump->chunk_room) = (struct bfc_chunk){
            .address = line->address,
            .size_bytes = line->size_bytes,
            .next = line->next,
            .operation = line->operation,
            .line = number,
            .has_next = line->has_next,
            .is_in_use = line->is_in_use,
            .is_pending = line->is_pending,
        };
        return;
    case BFC_LINE_SUMMARY:
        ARRAY_ADD(dump->summaries, dump->summary_count, dump->summary_room) = (struct bfc_summary){
            line->size_bytes, line->count, line->sizes[0], number};
        return;
    case BFC_LINE_SUM_TOTAL:
        dump->sum_total = line->sizes[0];
        dump->sum_total_line = number;
        return;
    case BFC_LINE_POOL:
        dump->pool_bytes = line->size_bytes;
        dump->pool_limit_bytes = line->limit_bytes;
        dump->pool_available_bytes = line->available_bytes;
        dump->pool_line = number;
        return;
    case BFC_LINE_STAT:
        if (dump->stat_lines[line->stat] == 0) { /* the first of one that comes twice */
            dump->stats[line->stat] = line->size_bytes;
            dump->stat_lines[line->stat] = number;
        }
        return;
    case BFC_LINE_MAP:
        dump->map = line->map;
        dump->map_line = number;
        return;
    default:
        return;
    }
}

/* --- which dump --- */

/* Chunks and regions take turns, and so do a heading and what stands below it. */
static enum bfc_line_kind find_part(enum bfc_line_kind kind)
{
    return kind == BFC_LINE_CHUNK ? BFC_LINE_REGION : kind == BFC_LINE_STAT ? BFC_LINE_STATS : kind;
}

static bool is_another_dump(const struct bfc_dump *dump, const struct bfc_line *line)
{
    const enum bfc_line_kind part = find_part(line->kind);
    const enum bfc_line_kind last = find_part(dump->last);
    if (part != last) {
        return part < last;
    }
    switch (line->kind) {
    case BFC_LINE_BIN:
        for (size_t i = find_bin_index(line->size_bytes); i < BFC_BIN_COUNT; i++) {
            if (dump->bins[i].line != 0) {
                return true;
            }
        }
        return false;
    case BFC_LINE_REGION:
    case BFC_LINE_CHUNK:
    case BFC_LINE_SUMMARY:
    case BFC_LINE_STAT:
        return false;
    default:
        return true;
    }
}

/* Takes a line behind a dump: it belongs to that dump, if the dump lacks it. */
static void take_behind(struct bfc_dump *dump, const struct bfc_line *line, size_t number)
{
    if (line->kind == BFC_LINE_SHAPE) {
        dump->element_count = dump->element_count == 0 ? line->size_bytes : dump->element_count;
    } else if (dump->request_line == 0) {
        take_request(dump, line, number);
    }
}

bool bfc_dump_take(struct bfc_dump *dump, const struct bfc_line *line, size_t number)
{
    const bool is_empty = dump->last == BFC_LINE_NONE && dump->wrong == NULL;
    const bool is_in_statistics = find_part(dump->last) == BFC_LINE_STATS;
    if (line->kind == BFC_LINE_SHAPE || line->kind == BFC_LINE_EPILOGUE) {
        if (!is_empty) {
            take_behind(dump, line, number);
        }
        return true;
    }
    /* Without the allocator's prefix, other programs print such lines, too. */
    const bool is_summed = dump->last >= BFC_LINE_SUMMARY && dump->last <= BFC_LINE_POOL;
    if (!line->is_unmistakable && ((line->kind == BFC_LINE_STATS && !is_summed) ||
                                   (line->kind == BFC_LINE_MAP && !is_in_statistics))) {
        return true;
    }
    if (!is_empty &&
        (line->kind == BFC_LINE_WRONG ? dump->last == BFC_LINE_MAP : is_another_dump(dump, line))) {
        return false;
    }
    dump->line = is_empty ? number : dump->line;
    if (line->kind == BFC_LINE_WRONG) {
        set_wrong(dump, line->reason, number);
        return true;
    }
    take_part(dump, line, number);
    dump->has_parts |= line->kind != BFC_LINE_REQUEST && line->kind != BFC_LINE_MAP;
    dump->last = line->kind;
    return true;
}
