/* Checks that a dump is complete and its chunks tile the regions. */
#include "formats/bfc/private/bfc.h"
#include "formats/common/printed_size.h"
#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True if the rounded size agrees with what is printed next to it. */
static bool is_possible_request(const struct bfc_dump *dump, uint64_t rounded_bytes)
{
    struct size_range asked;
    if (dump->bin_for_line != 0 && !bfc_prints_as(rounded_bytes, &dump->bin_for)) {
        return false;
    }
    if (dump->request_line == 0) {
        return true;
    }
    const struct text_part *text = &dump->requested; /* "112.5KiB" */
    char number[SETUP_NAME_BYTES];
    const size_t length = text->length >= 3 && text->at[text->length - 2] == 'i' ? text->length - 2
                                                                                 : text->length;
    if (length >= sizeof number) {
        return false;
    }
    memcpy(number, text->at, length);
    return printed_size_parse(number, length, &asked) && asked.low <= rounded_bytes &&
           asked.high + BFC_GRANULE_BYTES > rounded_bytes;
}

/* Returns the rounded bytes of a tensor of so many elements, if only one element size agrees with
 * the text; otherwise 0. */
static uint64_t find_request_of_shape(const struct bfc_dump *dump)
{
    uint64_t found_bytes = 0;
    for (uint64_t element_bytes = 1; element_bytes <= 16; element_bytes *= 2) {
        if (dump->element_count == 0 || dump->element_count > IMPORT_CAPACITY_MAX / element_bytes) {
            continue;
        }
        const uint64_t rounded_bytes = align_up(dump->element_count * element_bytes,
                                                BFC_GRANULE_BYTES);
        if (is_possible_request(dump, rounded_bytes)) {
            if (found_bytes != 0) {
                return 0;
            }
            found_bytes = rounded_bytes;
        }
    }
    return found_bytes;
}

/* Returns the size nearest to the text, of those that print so, that finds no room, if any does. */
static uint64_t find_request_of_text(const struct bfc_dump *dump)
{
    struct size_range range;
    const struct text_part *text = dump->bin_for_line != 0 ? &dump->bin_for : &dump->requested;
    const bool has_unit = text->length >= 3 && text->at[text->length - 2] == 'i';
    if (!printed_size_parse(text->at, has_unit ? text->length - 2 : text->length, &range) ||
        range.high > IMPORT_CAPACITY_MAX || !printed_size_align(&range, BFC_GRANULE_BYTES)) {
        return 0;
    }
    if (range.nominal > dump->largest_free_bytes) {
        return range.nominal;
    }
    const uint64_t above_bytes = align_up(dump->largest_free_bytes + 1, BFC_GRANULE_BYTES);
    return above_bytes <= range.high ? above_bytes : range.nominal;
}

static enum import_result check_request(struct bfc_dump *dump, struct import_error *error)
{
    const size_t line = dump->request_line != 0 ? dump->request_line : dump->bin_for_line;
    dump->request_bytes = dump->rounded_bytes;
    if (dump->request_bytes == 0) {
        dump->request_bytes = find_request_of_shape(dump);
    }
    dump->is_request_exact = dump->request_bytes != 0;
    if (!dump->is_request_exact) {
        dump->request_bytes = find_request_of_text(dump);
    }
    if (dump->request_bytes == 0 || dump->request_bytes > IMPORT_CAPACITY_MAX ||
        !is_possible_request(dump, dump->request_bytes)) {
        return IMPORT_REFUSE(
            error, line,
            "the sizes of the request contradict each other, or are not 1 to 2^50 bytes");
    }
    if (dump->request_bytes <= dump->largest_free_bytes) {
        return IMPORT_REFUSE(error, line,
                             "the request of %" PRIu64
                             " bytes would have fitted: a chunk of %" PRIu64 " bytes is free",
                             dump->request_bytes, dump->largest_free_bytes);
    }
    return IMPORT_OK;
}

/* Compares the map with the one that the chunks would give.  Each character stands for a hundredth
 * of all regions, from the lowest address up.  It is no '_' where a chunk in use has a byte,
 * whatever else is there.  No other line says how much of a chunk was asked for, which 'x' tells
 * from '*'.  Source: BFCAllocator::RenderOccupancy of TensorFlow. */
static enum import_result check_map(const struct bfc_dump *dump, struct import_error *error)
{
    bool is_in_use[BFC_MAP_LENGTH] = {false};
    uint64_t begin_bytes = 0; /* below 2^50: times 100 it fits */
    for (size_t i = 0; dump->map_line != 0 && i < dump->chunk_count; i++) {
        const uint64_t end_bytes = begin_bytes + dump->chunks[i].size_bytes;
        const uint64_t last = (end_bytes - 1) * BFC_MAP_LENGTH / dump->region_bytes;
        for (uint64_t column = begin_bytes * BFC_MAP_LENGTH / dump->region_bytes; column <= last;
             column++) {
            is_in_use[column] = is_in_use[column] || dump->chunks[i].is_in_use;
        }
        begin_bytes = end_bytes;
    }
    for (size_t i = 0; dump->map_line != 0 && i < BFC_MAP_LENGTH; i++) {
        if ((dump->map[i] != '_') != is_in_use[i]) {
            return IMPORT_REFUSE(
                error, dump->map_line,
                "character %zu of the map is '%c', but the chunks show %s in use there", i + 1,
                dump->map[i], is_in_use[i] ? "memory" : "no memory");
        }
    }
    return IMPORT_OK;
}

/* --- parts --- */

static enum import_result check_parts(const struct bfc_dump *dump, struct import_error *error)
{
    const struct {
        bool is_there;
        const char *what;
    } parts[] = {{dump->request_line != 0 || dump->bin_for_line != 0,
                  "the request ('ran out of memory trying to allocate')"},
                 {dump->chunk_count > 0, "the list of chunks ('InUse at', 'Chunk at')"},
                 {dump->stat_lines[BFC_STAT_LIMIT] != 0, "Limit of 'Stats:'"},
                 {dump->stat_lines[BFC_STAT_IN_USE] != 0, "InUse of 'Stats:'"}};
    char missing[IMPORT_REASON_BYTES / 2] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!parts[i].is_there) {
            used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%s",
                                     used > 0 ? ", " : "", parts[i].what);
        }
    }
    if (used > 0) {
        return import_fail(error, IMPORT_INCOMPLETE, dump->line, 0,
                           "the dump is cut off: it lacks %s", missing);
    }
    return dump->wrong == NULL ? IMPORT_OK
                               : IMPORT_REFUSE(error, dump->wrong_line, "%s", dump->wrong);
}

/* --- chunks --- */

static enum import_result check_sizes(struct bfc_dump *dump, struct import_error *error)
{
    for (size_t i = 0; i < dump->chunk_count; i++) {
        const struct bfc_chunk *chunk = &dump->chunks[i];
        if (chunk->size_bytes == 0) {
            return IMPORT_REFUSE(error, chunk->line, "the chunk has 0 bytes");
        }
        if (chunk->size_bytes > IMPORT_CAPACITY_MAX - dump->region_bytes) {
            return IMPORT_REFUSE(error, chunk->line,
                                 "with this chunk, the dump lists more than 2^50 bytes");
        }
        if (chunk->address > INT64_MAX - chunk->size_bytes) {
            return IMPORT_REFUSE(error, chunk->line, "the chunk at 0x%" PRIx64 " ends above 2^63",
                                 chunk->address);
        }
        dump->region_bytes += chunk->size_bytes;
    }
    return IMPORT_OK;
}

/* A chunk of a region must begin where the one before it ends. */
static enum import_result check_place(const struct bfc_chunk *chunk,
                                      const struct bfc_region *region, uint64_t first,
                                      struct import_error *error)
{
    const uint64_t end = chunk[-1].address + chunk[-1].size_bytes;
    if (chunk->address > end) {
        const bool is_outside = chunk->address - first >= region->size_bytes;
        const uint64_t missing_bytes = is_outside ? region->size_bytes - (end - first)
                                                  : chunk->address - end;
        return import_fail(error, IMPORT_INCOMPLETE, chunk->line, 0,
                           "lines are missing before this one: %" PRIu64 " bytes from 0x%" PRIx64
                           " on, of the region of %" PRIu64 " bytes (line %zu)",
                           missing_bytes, end, region->size_bytes, region->line);
    }
    if (chunk->address < end) {
        return IMPORT_REFUSE(error, chunk->line,
                             "the chunk at 0x%" PRIx64
                             " begins before the one above ends, at 0x%" PRIx64,
                             chunk->address, end);
    }
    return IMPORT_OK;
}

/* A region's own size tells whether all of its chunks are listed. */
static enum import_result check_region(struct bfc_dump *dump, size_t index,
                                       struct import_error *error)
{
    const struct bfc_region *region = &dump->regions[index];
    const size_t end_chunk = index + 1 < dump->region_count ? region[1].first_chunk
                                                            : dump->chunk_count;
    uint64_t listed_bytes = 0;
    for (size_t i = region->first_chunk; i < end_chunk; i++) {
        struct bfc_chunk *chunk = &dump->chunks[i];
        chunk->begins_region = i == region->first_chunk;
        if (!chunk->begins_region) {
            IMPORT_TRY(
                check_place(chunk, region, dump->chunks[region->first_chunk].address, error));
        }
        listed_bytes += chunk->size_bytes;
        if (listed_bytes > region->size_bytes) {
            return IMPORT_REFUSE(error, chunk->line,
                                 "with this chunk, the region of %" PRIu64
                                 " bytes (line %zu) lists %" PRIu64 " bytes",
                                 region->size_bytes, region->line, listed_bytes);
        }
        const bool is_last = listed_bytes == region->size_bytes;
        if (chunk->has_next && is_last != (chunk->next == BFC_NEXT_NONE)) {
            return IMPORT_REFUSE(error, chunk->line,
                                 is_last
                                     ? "the region is full, but this chunk names a next one"
                                     : "this chunk names no next one, but the region is not full");
        }
    }
    if (listed_bytes < region->size_bytes) {
        return import_fail(error, IMPORT_INCOMPLETE, region->line, 0,
                           "lines are missing: the region has %" PRIu64 " bytes, but only %" PRIu64
                           " are listed",
                           region->size_bytes, listed_bytes);
    }
    return IMPORT_OK;
}

static int compare_chunks(const void *a, const void *b)
{
    const struct bfc_chunk *x = a;
    const struct bfc_chunk *y = b;
    return compare_places(x->address, x->line, y->address, y->line);
}

/* Newer dumps are sorted already. */
static void sort_chunks(struct bfc_dump *dump)
{
    for (size_t i = 1; i < dump->chunk_count; i++) {
        if (compare_chunks(&dump->chunks[i - 1], &dump->chunks[i]) > 0) {
            qsort(dump->chunks, dump->chunk_count, sizeof *dump->chunks, compare_chunks);
            return;
        }
    }
}

/* Sorts by address and marks where regions begin.  Old dumps do not say: there a region ends where
 * memory is missing. Two free chunks that touch would be one if they were of one region. */
static enum import_result find_borders(struct bfc_dump *dump, struct import_error *error)
{
    sort_chunks(dump);
    for (size_t i = 1; i < dump->chunk_count; i++) {
        struct bfc_chunk *chunk = &dump->chunks[i];
        const uint64_t end = chunk[-1].address + chunk[-1].size_bytes;
        if (end > chunk->address) {
            const struct bfc_chunk *later = chunk->line > chunk[-1].line ? chunk : chunk - 1;
            return IMPORT_REFUSE(
                error, later->line,
                "the chunk at 0x%" PRIx64 " of %" PRIu64 " bytes overlaps another one (line %zu)",
                later->address, later->size_bytes, later == chunk ? chunk[-1].line : chunk->line);
        }
        chunk->begins_region |= end < chunk->address ||
                                !(chunk->is_in_use || chunk->is_pending || chunk[-1].is_in_use ||
                                  chunk[-1].is_pending);
        dump->border_count += chunk->begins_region;
    }
    return IMPORT_OK;
}

static enum import_result check_chunks(struct bfc_dump *dump, struct import_error *error)
{
    IMPORT_TRY(check_sizes(dump, error));
    const bool has_regions = dump->region_count > 0 || dump->chunks[0].has_next;
    if (has_regions && (dump->region_count == 0 || dump->regions[0].first_chunk > 0)) {
        return import_fail(
            error, IMPORT_INCOMPLETE, dump->chunks[0].line, 0,
            "lines are missing: there is no 'Next region of size' before this chunk");
    }
    for (size_t i = 0; i < dump->region_count; i++) {
        IMPORT_TRY(check_region(dump, i, error));
    }
    return find_borders(dump, error);
}

static void add_up(struct bfc_dump *dump)
{
    for (size_t i = 0; i < dump->chunk_count; i++) {
        const struct bfc_chunk *chunk = &dump->chunks[i];
        if (chunk->is_in_use) {
            dump->in_use_bytes += chunk->size_bytes;
            dump->in_use_count++;
        } else if (chunk->is_pending) {
            dump->pending_bytes += chunk->size_bytes;
            dump->pending_count++;
        } else {
            dump->free_bytes += chunk->size_bytes;
            dump->free_count++;
            dump->largest_free_bytes = chunk->size_bytes > dump->largest_free_bytes
                                           ? chunk->size_bytes
                                           : dump->largest_free_bytes;
        }
    }
}

/* --- bins --- */

struct bin_sums {
    uint64_t count, bytes, in_use_count, in_use_bytes;
};

/* Without regions, only the bins tell that a line is missing. */
static enum import_result check_bin(const struct bfc_dump *dump, const struct bfc_bin *bin,
                                    const struct bin_sums *sums, struct import_error *error)
{
    const bool is_free_only = bin->counts_free_only;
    const uint64_t count = is_free_only ? sums->count - sums->in_use_count : sums->count;
    const uint64_t in_use_count = is_free_only ? 0 : sums->in_use_count;
    const uint64_t bytes[] = {is_free_only ? sums->bytes - sums->in_use_bytes : sums->bytes,
                              is_free_only ? 0 : sums->in_use_bytes};
    if (bin->count != count || bin->in_use_count != in_use_count) {
        const bool is_cut = dump->region_count == 0 && bin->count >= count &&
                            bin->in_use_count >= in_use_count;
        return import_fail(error, is_cut ? IMPORT_INCOMPLETE : IMPORT_INVALID, bin->line, 0,
                           "%sthe bin has %" PRIu64 " chunks, %" PRIu64
                           " in use, but the list has %" PRIu64 " and %" PRIu64,
                           is_cut ? "lines are missing: " : "", bin->count, bin->in_use_count,
                           count, in_use_count);
    }
    for (size_t i = 0; i < 2; i++) {
        if (!bfc_prints_as(bytes[i], &bin->sizes[i])) {
            return IMPORT_REFUSE(error, bin->line,
                                 "the bin has %.*s %s, but its chunks have %" PRIu64 " bytes",
                                 (int)(bin->sizes[i].length > 20 ? 20 : bin->sizes[i].length),
                                 bin->sizes[i].at, i == 0 ? "in all" : "in use", bytes[i]);
        }
    }
    return IMPORT_OK;
}

static enum import_result check_bins(const struct bfc_dump *dump, struct import_error *error)
{
    struct bin_sums sums[BFC_BIN_COUNT] = {{0}};
    bool are_all_there = true;
    for (size_t i = 0; i < dump->chunk_count; i++) {
        const struct bfc_chunk *chunk = &dump->chunks[i];
        size_t bin = 0;
        while (bin + 1 < BFC_BIN_COUNT && chunk->size_bytes >= (uint64_t)BFC_GRANULE_BYTES
                                                                   << (bin + 1)) {
            bin++;
        }
        sums[bin].count++;
        sums[bin].bytes += chunk->size_bytes;
        sums[bin].in_use_count += chunk->is_in_use;
        sums[bin].in_use_bytes += chunk->is_in_use ? chunk->size_bytes : 0;
    }
    for (size_t i = 0; i < BFC_BIN_COUNT; i++) {
        are_all_there = are_all_there && dump->bins[i].line != 0;
        if (dump->bins[i].line != 0) {
            IMPORT_TRY(check_bin(dump, &dump->bins[i], &sums[i], error));
        }
    }
    if (!are_all_there && dump->region_count == 0 &&
        dump->region_bytes != dump->stats[BFC_STAT_LIMIT]) {
        return import_fail(
            error, IMPORT_INCOMPLETE, dump->line, 0,
            "lines are missing: without all bins, it is unknown whether all free chunks are listed");
    }
    return IMPORT_OK;
}

/* --- sums --- */

/* The sizes of the chunks in use, sorted; the caller frees. */
static uint64_t *sort_sizes(const struct bfc_dump *dump)
{
    uint64_t *sizes = malloc((dump->in_use_count + 1) * sizeof *sizes);
    size_t count = 0;
    CHECK(sizes != NULL);
    for (size_t i = 0; i < dump->chunk_count; i++) {
        if (dump->chunks[i].is_in_use) {
            sizes[count++] = dump->chunks[i].size_bytes;
        }
    }
    sort_numbers(sizes, count);
    return sizes;
}

static enum import_result check_summary(const struct bfc_summary *summary, uint64_t size_bytes,
                                        uint64_t count, struct import_error *error)
{
    if (summary->size_bytes > size_bytes) {
        return import_fail(error, IMPORT_INCOMPLETE, summary->line, 0,
                           "lines are missing: %" PRIu64 " chunks of size %" PRIu64
                           " have no line before this one",
                           count, size_bytes);
    }
    if (summary->size_bytes != size_bytes || summary->count != count) {
        return IMPORT_REFUSE(error, summary->line,
                             "the summary has %" PRIu64 " chunks of size %" PRIu64
                             " in use, but the list has %" PRIu64,
                             summary->count, summary->size_bytes,
                             summary->size_bytes == size_bytes ? count : 0);
    }
    if (!bfc_prints_as(count * size_bytes, &summary->total)) {
        return IMPORT_REFUSE(
            error, summary->line,
            "%" PRIu64 " chunks of size %" PRIu64 " are %" PRIu64 " bytes, not %.*s", count,
            size_bytes, count * size_bytes,
            (int)(summary->total.length > 20 ? 20 : summary->total.length), summary->total.at);
    }
    return IMPORT_OK;
}

/* One line for each size, in ascending order. */
static enum import_result check_sorted(const struct bfc_dump *dump, const uint64_t *sizes,
                                       struct import_error *error)
{
    size_t at = 0;
    for (size_t i = 0; i < dump->summary_count; i++) {
        const struct bfc_summary *summary = &dump->summaries[i];
        size_t end = at;
        while (end < dump->in_use_count && sizes[end] == sizes[at]) {
            end++;
        }
        /* Behind the last size there is none: no line is right. */
        const uint64_t size_bytes = at < dump->in_use_count ? sizes[at] : UINT64_MAX;
        IMPORT_TRY(check_summary(summary, size_bytes, end - at, error));
        at = end;
    }
    if (at < dump->in_use_count) {
        return import_fail(
            error, IMPORT_INCOMPLETE, dump->summaries[dump->summary_count - 1].line, 0,
            "lines are missing: chunks of size %" PRIu64 " are in use, but not in the summary",
            sizes[at]);
    }
    return IMPORT_OK;
}

static enum import_result check_in_use(const struct bfc_dump *dump, struct import_error *error)
{
    const uint64_t said_bytes = dump->stats[BFC_STAT_IN_USE];
    if (said_bytes != dump->in_use_bytes) {
        const bool is_cut = dump->region_count == 0 && dump->in_use_bytes < said_bytes;
        return import_fail(
            error, is_cut ? IMPORT_INCOMPLETE : IMPORT_INVALID, dump->stat_lines[BFC_STAT_IN_USE],
            0, "%sInUse is %" PRIu64 " bytes, but the chunks in use have %" PRIu64 " bytes",
            is_cut ? "lines are missing: " : "", said_bytes, dump->in_use_bytes);
    }
    if (dump->sum_total_line != 0 && !bfc_prints_as(dump->in_use_bytes, &dump->sum_total)) {
        return IMPORT_REFUSE(
            error, dump->sum_total_line, "the chunks in use sum to %" PRIu64 " bytes, not %.*s",
            dump->in_use_bytes, (int)(dump->sum_total.length > 20 ? 20 : dump->sum_total.length),
            dump->sum_total.at);
    }
    const size_t peak_line = dump->stat_lines[BFC_STAT_MAX_IN_USE];
    if (peak_line != 0 && dump->stats[BFC_STAT_MAX_IN_USE] < said_bytes) {
        return IMPORT_REFUSE(error, peak_line, "MaxInUse is below InUse");
    }
    return IMPORT_OK;
}

static enum import_result check_pool(const struct bfc_dump *dump, struct import_error *error)
{
    const uint64_t limit_bytes = dump->stats[BFC_STAT_LIMIT];
    if (limit_bytes < dump->region_bytes) {
        return IMPORT_REFUSE(error, dump->stat_lines[BFC_STAT_LIMIT],
                             "the limit of %" PRIu64 " bytes is below the %" PRIu64
                             " bytes of the chunks",
                             limit_bytes, dump->region_bytes);
    }
    if (dump->pool_line == 0) {
        return IMPORT_OK;
    }
    if (dump->pool_bytes != dump->region_bytes) {
        return IMPORT_REFUSE(error, dump->pool_line,
                             "the log gives the regions %" PRIu64
                             " bytes, but the chunks have %" PRIu64 " bytes",
                             dump->pool_bytes, dump->region_bytes);
    }
    if (dump->pool_limit_bytes != limit_bytes ||
        dump->pool_available_bytes != limit_bytes - dump->region_bytes) {
        return IMPORT_REFUSE(
            error, dump->pool_line,
            "a limit of %" PRIu64 " and %" PRIu64 " available bytes contradict Limit %" PRIu64
            " and regions of %" PRIu64 " bytes",
            dump->pool_limit_bytes, dump->pool_available_bytes, limit_bytes, dump->region_bytes);
    }
    return IMPORT_OK;
}

/* Compares the sums over the chunks with the bins, the summary, the statistics and the pool. */
static enum import_result check_sums(const struct bfc_dump *dump, struct import_error *error)
{
    IMPORT_TRY(check_in_use(dump, error));
    IMPORT_TRY(check_bins(dump, error));
    if (dump->summary_count > 0) {
        uint64_t *sizes = sort_sizes(dump);
        const enum import_result result = check_sorted(dump, sizes, error);
        free(sizes);
        IMPORT_TRY(result);
    }
    return check_pool(dump, error);
}

enum import_result bfc_dump_check(struct bfc_dump *dump, struct import_error *error)
{
    IMPORT_TRY(check_parts(dump, error));
    IMPORT_TRY(check_chunks(dump, error));
    add_up(dump);
    IMPORT_TRY(check_sums(dump, error));
    IMPORT_TRY(check_map(dump, error));
    return check_request(dump, error);
}
