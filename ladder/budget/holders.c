#include "ladder/budget/private/holders.h"

const struct budget_moment *budget_moment_of(const struct budget *budget,
                                             const struct budget_row *row)
{
    const struct budget_host *host = &budget->hosts[row->host];
    const struct budget_moment *moments[] = {
        [BUDGET_PEAK] = &host->peak,
        [BUDGET_TAG_PEAK] = &host->tag_peaks[row->limit - budget->limits],
        [BUDGET_GROWTH] = NULL,
        [BUDGET_FRAGMENTATION] = &host->worst,
        [BUDGET_OOMS] = &budget->run.oom};
    const struct budget_moment *moment = moments[row->limit->kind];
    return moment != NULL && moment->is_seen ? moment : NULL;
}

static void find_most(const uint64_t bytes[OP_TAG_COUNT], struct holders *holders)
{
    bool is_taken[OP_TAG_COUNT] = {false};
    holders->count = 0;
    while (holders->count < HOLDER_COUNT_MAX) {
        unsigned most = OP_TAG_COUNT;
        for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
            if (!is_taken[tag] && bytes[tag] > 0 &&
                (most == OP_TAG_COUNT || bytes[tag] > bytes[most])) {
                most = tag;
            }
        }
        if (most == OP_TAG_COUNT) {
            return;
        }
        is_taken[most] = true;
        holders->items[holders->count++] = (struct holder){(uint8_t)most, bytes[most]};
    }
}

void holders_find(const struct budget *budget, const struct budget_row *row,
                  struct holders *holders)
{
    const struct budget_moment *moment = budget_moment_of(budget, row);
    const struct budget_floor *floors = budget->hosts[row->host].floors;
    uint64_t bytes[OP_TAG_COUNT] = {0};
    for (size_t tag = 0; tag < OP_TAG_COUNT; tag++) {
        const uint64_t before = floors[BUDGET_HALF_FIRST].tag_bytes[tag];
        const uint64_t after = floors[BUDGET_HALF_LAST].tag_bytes[tag];
        if (row->limit->kind == BUDGET_GROWTH) {
            bytes[tag] = after > before ? after - before : 0;
        } else if (moment != NULL) {
            bytes[tag] = moment->tag_bytes[tag];
        }
    }
    find_most(bytes, holders);
}
