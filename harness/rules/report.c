#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>
#include <stdlib.h>

bool judge_report(struct judge *judge, const struct host *host)
{
    const struct rule_evidence evidence = evidence_of(judge, host, NULL, SIGHT_REPORT);
    return rule_judge(RULE_REPORT, &evidence) && rule_judge(RULE_HANDLE, &evidence);
}

/* --- the allocations report --- */

struct report_check {
    const struct rule_evidence *evidence;
    const struct host *host;
    uint64_t *addresses; /* of the rows that have one; address_count, at most as many as there are
                            blocks */
    size_t address_count;
    bool *is_reported; /* by index of the absent blocks */
    uint64_t count, sum_bytes, last_size_bytes;
    bool is_good;
};

/* Rows without an address tell nothing apart but by what they say: each stands for a block of its
 * own. */
static bool check_absent_row(struct report_check *check, const struct target_row *row)
{
    const struct model *model = check->host->model;
    for (size_t i = 0; i < model_absent_count(model); i++) {
        if (!check->is_reported[i] &&
            reported_row_is_of(row, model_block(model, model_absent_slot(model, i)))) {
            return check->is_reported[i] = true;
        }
    }
    return evidence_break_as(check->evidence, RULE_REPORT, "row without an address",
                             "a row of %" PRIu64
                             " bytes has no address, but no such block is in host memory",
                             row->size_bytes);
}

/* Where blocks have places, the row names one of them. */
static bool check_row(struct report_check *check, const struct target_row *row)
{
    struct span span = {0};
    const struct model *model = check->host->model;
    if (row->address == TARGET_ADDRESS_NONE) {
        return check_absent_row(check, row);
    }
    const uint64_t start = row->address - check->host->contract.header_bytes;
    const bool found = span_map_intersects(model_map(model), start, start + 1, &span);
    const struct block *block = found ? model_block(model, (uint32_t)span.owner) : NULL;
    bool is_good = true;
    if (block == NULL || block->address != start) {
        is_good = evidence_break_as(check->evidence, RULE_REPORT, "row without a block",
                                    "a row names 0x%" PRIx64 ", where no block begins",
                                    row->address);
    } else if (!reported_row_is_of(row, block)) {
        is_good = evidence_break_as(check->evidence, RULE_REPORT, "wrong row",
                                    "block %" PRIu32 " is reported with size %" PRIu64
                                    ", kind %u, tag %" PRIu32 ", but has %" PRIu64 ", %u, %u",
                                    block->op, row->size_bytes, (unsigned)row->kind, row->tag,
                                    block->size_bytes, block->kind, block->tag);
    }
    if (is_good && check->address_count < model_counters(model)->block_count) {
        check->addresses[check->address_count++] = row->address;
    }
    return is_good;
}

static void take_row(void *context, const struct target_row *row)
{
    struct report_check *check = context;
    if (!check->is_good) {
        return;
    }
    /* Without places sums alone tell. */
    check->is_good = check->host->contract.placement != PLACEMENT_RANGES || check_row(check, row);
    if (check->is_good && check->count > 0 && row->size_bytes > check->last_size_bytes) {
        check->is_good = evidence_break_as(check->evidence, RULE_REPORT, "order of the rows",
                                           "the rows do not begin with the largest");
    }
    check->count++;
    check->sum_bytes += row->size_bytes;
    check->last_size_bytes = row->size_bytes;
}

/* Each row named a block: as many different rows as there are blocks name each one once. */
static bool check_rows(struct report_check *check)
{
    const struct model_counters *is = model_counters(check->host->model);
    if (!check->is_good) {
        return false;
    }
    if (check->count != is->block_count || check->sum_bytes != is->in_use_bytes) {
        return evidence_break_as(check->evidence, RULE_REPORT, "sums",
                                 "%" PRIu64 " rows of %" PRIu64 " bytes for %" PRIu64
                                 " blocks of %" PRIu64,
                                 check->count, check->sum_bytes, is->block_count, is->in_use_bytes);
    }
    sort_numbers(check->addresses, check->address_count);
    for (size_t i = 1; i < check->address_count; i++) {
        if (check->addresses[i] == check->addresses[i - 1]) {
            return evidence_break_as(check->evidence, RULE_REPORT, "doubled row",
                                     "two rows name the block at 0x%" PRIx64, check->addresses[i]);
        }
    }
    return true;
}

bool rules_judge_report(const struct rule_evidence *evidence)
{
    const struct host *host = evidence->host;
    struct report_check check = {.evidence = evidence, .host = host, .is_good = true};
    if (host->target->report == NULL) {
        return true;
    }
    check.addresses = malloc((model_counters(host->model)->block_count + 1) *
                             sizeof *check.addresses);
    check.is_reported = calloc(model_absent_count(host->model) + 1, sizeof *check.is_reported);
    CHECK(check.addresses != NULL);
    CHECK(check.is_reported != NULL);
    host->target->report(host->instance, take_row, &check);
    /* A report that could not be sorted may be left out. */
    const bool is_excused = (device_faults_fired(host->device) & 1u << FAULT_HOST_MEMORY) != 0 &&
                            check.count == 0;
    const bool is_good = is_excused || check_rows(&check);
    free(check.addresses);
    free(check.is_reported);
    return is_good;
}

/* --- handles --- */

/* No two things share a handle; sorted once per report, because per op it would cost a set. */
static bool judge_distinct_handles(const struct rule_evidence *evidence)
{
    const struct model *model = evidence->host->model;
    const size_t live = model_live_count(model);
    const size_t count = live + model_program_count(model);
    uint64_t *handles = array_resized(NULL, (count + 1) * sizeof *handles);
    for (size_t i = 0; i < count; i++) {
        handles[i] = i < live ? model_live(model, i)->handle
                              : model_program(model, i - live)->handle;
    }
    sort_numbers(handles, count);
    bool is_good = true;
    for (size_t i = 1; i < count && is_good; i++) {
        is_good = handles[i] != handles[i - 1] ||
                  evidence_break(evidence, RULE_HANDLE,
                                 "two blocks or programs have the same handle");
    }
    free(handles);
    return is_good;
}

bool rules_judge_handle(const struct rule_evidence *evidence)
{
    if (evidence->sight == SIGHT_REPORT) {
        return judge_distinct_handles(evidence);
    }
    return evidence->call->block.handle != 0 ||
           evidence_break(evidence, RULE_HANDLE, "the handle is 0");
}
