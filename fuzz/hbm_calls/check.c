#include "fuzz/hbm_calls/private/state.h"

#include "fuzz/hbm_calls/calls.h"

#include <string.h>

const char *calls_check_heap(struct hbm *hbm, const size_t *host_bytes)
{
    struct hbm_stats stats;
    hbm_stats(hbm, &stats);
    if (!hbm_invariants_hold(hbm)) {
        return "hbm_invariants_hold() returns false";
    }
    if (stats.bytes_in_use > stats.bytes_limit ||
        stats.bytes_reserved > stats.bytes_limit - stats.bytes_in_use) {
        return "the bytes in use and reserved exceed the limit";
    }
    return hbm_host_bytes(hbm) == *host_bytes
               ? NULL
               : "hbm_host_bytes() differs from the host memory that it obtained";
}

const char *calls_check_failure(const struct hbm *hbm, enum hbm_result result)
{
    const struct hbm_failure *failure = hbm_last_failure(hbm);
    const bool is_memory = failure->form == HBM_FAILURE_BUFFER ||
                           failure->form == HBM_FAILURE_PROGRAM_IMAGE ||
                           failure->form == HBM_FAILURE_PROGRAM_STACK;
    if (hbm_result_name(result)[0] == '\0') {
        return "a result has no name";
    }
    if (result == HBM_OK) {
        return NULL;
    }
    if (hbm_error(hbm)[0] == '\0') {
        return "a call has failed without an error text";
    }
    if ((result == HBM_NO_MEMORY) != is_memory ||
        (result == HBM_INVALID) != (failure->form == HBM_FAILURE_INVALID)) {
        return "the form of the failure does not match the result";
    }
    return NULL;
}

/* --- reports --- */

struct calls_seen {
    struct hbm_report_entry last;
    uint64_t count, bytes;
    const char *broken;
};

static void expect_seen(struct calls_seen *seen, bool holds, const char *what)
{
    if (!holds && seen->broken == NULL) {
        seen->broken = what;
    }
}

static void check_entry(void *context, const struct hbm_report_entry *entry)
{
    struct calls_seen *seen = context;
    const struct hbm_report_entry *last = &seen->last;
    /* A block that is stranded on the host has no address, wherever it is among its size. */
    const bool has_order = entry->address != HBM_ADDRESS_NONE && last->address != HBM_ADDRESS_NONE;
    const bool is_sorted = seen->count == 0 || entry->size_bytes < last->size_bytes ||
                           (entry->size_bytes == last->size_bytes &&
                            (!has_order || entry->address < last->address));
    expect_seen(seen, is_sorted, "the report is not sorted");
    expect_seen(seen, hbm_kind_name(entry->kind)[0] != '\0', "a kind has no name");
    expect_seen(seen, hbm_state_name(entry->state)[0] != '\0', "a state has no name");
    expect_seen(seen, (entry->handle == NULL) == (entry->kind == HBM_KIND_RETIRED),
                "a block has no handle, or a retired block has one");
    if (entry->shape != NULL) {
        const char *broken = calls_check_shape(entry->shape);
        expect_seen(seen, broken == NULL, broken);
    }
    seen->last = *entry;
    seen->count++;
    seen->bytes += entry->size_bytes;
}

static void check_line(void *context, const char *text)
{
    struct calls_seen *seen = context;
    seen->count++;
    for (const char *at = text; *at != '\0'; at++) {
        expect_seen(seen, (unsigned char)*at >= ' ',
                    "a line of the printed report has a control character");
    }
}

const char *calls_check_report(struct hbm *hbm, enum hbm_result *result)
{
    struct hbm_stats stats;
    struct calls_seen visited = {.count = 0};
    struct calls_seen printed = {.count = 0};
    const struct hbm_sink sink = {check_line, &printed};
    hbm_stats(hbm, &stats);
    *result = hbm_report_visit(hbm, check_entry, &visited);
    hbm_report_print(hbm, &sink);
    if (visited.broken != NULL || printed.broken != NULL) {
        return visited.broken != NULL ? visited.broken : printed.broken;
    }
    const bool is_all = visited.count == stats.num_allocs && visited.bytes == stats.bytes_in_use;
    if (*result == HBM_OK ? !is_all : visited.count != 0) {
        return "the report and the counters differ";
    }
    return printed.count > stats.num_allocs ? NULL : "the printed report lacks lines";
}

/* --- shapes --- */

const char *calls_check_shape(const struct hbm_shape *shape)
{
    char text[HBM_SHAPE_TEXT_BYTES];
    struct hbm_shape again;
    uint64_t padded = 0, unpadded = 0;
    size_t offset;
    if (hbm_shape_parse(hbm_shape_print(shape, text, sizeof text), &again, &offset) !=
        HBM_SHAPE_OK) {
        return "a printed shape cannot be read";
    }
    if (memcmp(&again, shape, sizeof again) != 0) {
        return "a printed shape is read as a different one";
    }
    const bool is_small = hbm_shape_unpadded_bytes(shape, &unpadded) == HBM_SHAPE_OK;
    if (hbm_shape_padded_bytes(shape, &padded) != HBM_SHAPE_OK) {
        return padded == 0 ? NULL : "a padded size is set although it is too large";
    }
    return is_small && padded >= unpadded ? NULL : "a shape is smaller with its padding";
}

const char *hbm_calls_check_shape_text(const char *text, size_t length)
{
    struct hbm_shape shape = {.rank = 0};
    size_t offset = 0;
    if (hbm_shape_parse(text, &shape, &offset) != HBM_SHAPE_OK) {
        return offset <= length ? NULL : "the error is reported beyond the end of the text";
    }
    if (!hbm_shape_is_valid(&shape)) {
        return "the parser accepts an invalid shape";
    }
    const char *broken = calls_check_shape(&shape);
    if (broken != NULL) {
        return broken;
    }
    hbm_shape_tile_default(&shape);
    return hbm_shape_is_valid(&shape) ? calls_check_shape(&shape)
                                      : "the default tile makes the shape invalid";
}
