/* Checks that the sums of a dump agree.  Three sources give what is in use: the chunks, their
 * summary by size, and the statistics.  Two give what there is at all: the chunks, and the bins or
 * the regions. */
#include "formats/bfc/private/bfc.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- bins --- */

struct bin_sums {
    uint64_t count, bytes, in_use_count, in_use_bytes;
};

static size_t find_bin(uint64_t size_bytes)
{
    size_t index = 0;
    while (index + 1 < BFC_BIN_COUNT && size_bytes >= (uint64_t)BFC_GRANULE_BYTES << (index + 1)) {
        index++;
    }
    return index;
}

static void sum_bins(const struct bfc_dump *dump, struct bin_sums sums[BFC_BIN_COUNT])
{
    for (size_t i = 0; i < dump->chunk_count; i++) {
        const struct bfc_chunk *chunk = &dump->chunks[i];
        struct bin_sums *sum = &sums[find_bin(chunk->size_bytes)];
        sum->count++;
        sum->bytes += chunk->size_bytes;
        sum->in_use_count += chunk->is_in_use;
        sum->in_use_bytes += chunk->is_in_use ? chunk->size_bytes : 0;
    }
}

/* Without regions, only the bins tell that a line is missing. */
static enum import_result check_bin_counts(const struct bfc_dump *dump, const struct bfc_bin *bin,
                                           const struct bin_sums *sums, struct import_error *error)
{
    const uint64_t count = bin->counts_free_only ? sums->count - sums->in_use_count : sums->count;
    const uint64_t in_use_count = bin->counts_free_only ? 0 : sums->in_use_count;
    if (bin->count == count && bin->in_use_count == in_use_count) {
        return IMPORT_OK;
    }
    const bool is_cut = dump->region_count == 0 && bin->count >= count &&
                        bin->in_use_count >= in_use_count;
    return import_fail(error, is_cut ? IMPORT_INCOMPLETE : IMPORT_INVALID, bin->line, 0,
                       "%sthe bin has %" PRIu64 " chunks, %" PRIu64
                       " in use, but the list has %" PRIu64 " and %" PRIu64,
                       is_cut ? "lines are missing: " : "", bin->count, bin->in_use_count, count,
                       in_use_count);
}

static enum import_result check_bin(const struct bfc_dump *dump, const struct bfc_bin *bin,
                                    const struct bin_sums *sums, struct import_error *error)
{
    IMPORT_TRY(check_bin_counts(dump, bin, sums, error));
    const uint64_t bytes[] = {bin->counts_free_only ? sums->bytes - sums->in_use_bytes
                                                    : sums->bytes,
                              bin->counts_free_only ? 0 : sums->in_use_bytes};
    for (size_t i = 0; i < 2; i++) {
        if (!bfc_prints_as(bytes[i], &bin->sizes[i])) {
            return import_fail(error, IMPORT_INVALID, bin->line, 0,
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
    sum_bins(dump, sums);
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

static int compare_sizes(const void *a, const void *b)
{
    return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

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
    qsort(sizes, count, sizeof *sizes, compare_sizes);
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
        return import_fail(error, IMPORT_INVALID, summary->line, 0,
                           "the summary has %" PRIu64 " chunks of size %" PRIu64
                           " in use, but the list has %" PRIu64,
                           summary->count, summary->size_bytes,
                           summary->size_bytes == size_bytes ? count : 0);
    }
    if (!bfc_prints_as(count * size_bytes, &summary->total)) {
        return import_fail(error, IMPORT_INVALID, summary->line, 0,
                           "%" PRIu64 " chunks of size %" PRIu64 " are %" PRIu64 " bytes, not %.*s",
                           count, size_bytes, count * size_bytes,
                           (int)(summary->total.length > 20 ? 20 : summary->total.length),
                           summary->total.at);
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

static enum import_result check_summaries(const struct bfc_dump *dump, struct import_error *error)
{
    if (dump->summary_count == 0) {
        return IMPORT_OK;
    }
    uint64_t *sizes = sort_sizes(dump);
    const enum import_result result = check_sorted(dump, sizes, error);
    free(sizes);
    return result;
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
        return import_fail(
            error, IMPORT_INVALID, dump->sum_total_line, 0,
            "the chunks in use sum to %" PRIu64 " bytes, not %.*s", dump->in_use_bytes,
            (int)(dump->sum_total.length > 20 ? 20 : dump->sum_total.length), dump->sum_total.at);
    }
    const size_t peak_line = dump->stat_lines[BFC_STAT_MAX_IN_USE];
    if (peak_line != 0 && dump->stats[BFC_STAT_MAX_IN_USE] < said_bytes) {
        return import_fail(error, IMPORT_INVALID, peak_line, 0, "MaxInUse is below InUse");
    }
    return IMPORT_OK;
}

static enum import_result check_pool(const struct bfc_dump *dump, struct import_error *error)
{
    const uint64_t limit_bytes = dump->stats[BFC_STAT_LIMIT];
    if (limit_bytes < dump->region_bytes) {
        return import_fail(error, IMPORT_INVALID, dump->stat_lines[BFC_STAT_LIMIT], 0,
                           "the limit of %" PRIu64 " bytes is below the %" PRIu64
                           " bytes of the chunks",
                           limit_bytes, dump->region_bytes);
    }
    if (dump->pool_line == 0) {
        return IMPORT_OK;
    }
    if (dump->pool_bytes != dump->region_bytes) {
        return import_fail(error, IMPORT_INVALID, dump->pool_line, 0,
                           "the log gives the regions %" PRIu64
                           " bytes, but the chunks have %" PRIu64 " bytes",
                           dump->pool_bytes, dump->region_bytes);
    }
    if (dump->pool_limit_bytes != limit_bytes ||
        dump->pool_available_bytes != limit_bytes - dump->region_bytes) {
        return import_fail(
            error, IMPORT_INVALID, dump->pool_line, 0,
            "a limit of %" PRIu64 " and %" PRIu64 " available bytes contradict Limit %" PRIu64
            " and regions of %" PRIu64 " bytes",
            dump->pool_limit_bytes, dump->pool_available_bytes, limit_bytes, dump->region_bytes);
    }
    return IMPORT_OK;
}

enum import_result bfc_check_sums(const struct bfc_dump *dump, struct import_error *error)
{
    IMPORT_TRY(check_in_use(dump, error));
    IMPORT_TRY(check_bins(dump, error));
    IMPORT_TRY(check_summaries(dump, error));
    return check_pool(dump, error);
}
