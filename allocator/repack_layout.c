#include "allocator/private/check.h"
#include "allocator/private/packing.h"

static bool place_item_below(const struct packing *packing, const struct hbm_span *span,
                             uint32_t item, uint64_t *limit)
{
    HBM_CHECK(item <= packing->plan->item_count);
    const uint64_t size_bytes = packing_item_bytes(packing, item);
    if (*limit < span->low || *limit - span->low < size_bytes) {
        return false;
    }
    const uint64_t address = hbm_align_down(*limit - size_bytes, packing_item_shift(packing, item));
    if (address < span->low) {
        return false;
    }
    if (item < packing->plan->item_count) {
        packing->plan->items[item].target = address;
    }
    *limit = address;
    HBM_CHECK_COSTLY(address + size_bytes <= span->high);
    return true;
}

/* Blocks that stay keep their order at the top; arrivals lie below them, largest alignment first.
 */
static bool lay_span_out_in_order(struct packing *packing, uint32_t s)
{
    HBM_CHECK(s < packing->span_count);
    const struct hbm_span *span = &packing->spans[s];
    uint64_t limit = span->high;
    for (size_t i = span->end; i-- > span->first;) {
        if (packing->assigned[i] == s && !place_item_below(packing, span, (uint32_t)i, &limit)) {
            return false;
        }
    }
    for (int shift = 63; shift >= 0; shift--) {
        for (uint32_t i = packing->arrival_first[s]; i != NOWHERE; i = packing->arrival_next[i]) {
            if (packing_item_shift(packing, i) == shift &&
                !place_item_below(packing, span, i, &limit)) {
                return false;
            }
        }
    }
    HBM_CHECK(limit >= span->low);
    return true;
}

/* Does the same, but sorts blocks that stay by alignment also: least is wasted between them. */
static bool lay_span_out_by_align(struct packing *packing, uint32_t s)
{
    HBM_CHECK(s < packing->span_count);
    const struct hbm_span *span = &packing->spans[s];
    uint64_t limit = span->high;
    for (int shift = 63; shift >= 0; shift--) {
        for (size_t i = span->first; i < span->end; i++) {
            const bool here = packing->assigned[i] == s &&
                              packing_item_shift(packing, (uint32_t)i) == shift;
            if (here && !place_item_below(packing, span, (uint32_t)i, &limit)) {
                return false;
            }
        }
        for (uint32_t i = packing->arrival_first[s]; i != NOWHERE; i = packing->arrival_next[i]) {
            if (packing_item_shift(packing, i) == shift &&
                !place_item_below(packing, span, i, &limit)) {
                return false;
            }
        }
    }
    HBM_CHECK(limit >= span->low);
    return true;
}

static bool is_span_untouched(const struct packing *packing, uint32_t s)
{
    const struct hbm_span *span = &packing->spans[s];
    if (packing->arrival_first[s] != NOWHERE) {
        return false;
    }
    for (size_t i = span->first; i < span->end; i++) {
        if (packing->assigned[i] == s && packing->plan->items[i].address < span->low) {
            return false;
        }
    }
    return true;
}

static void find_arrivals(struct packing *packing)
{
    for (size_t s = 0; s < packing->span_count; s++) {
        packing->arrival_first[s] = NOWHERE;
    }
    for (size_t k = packing->count; k-- > 0;) {
        uint32_t item = packing->items[k], s = packing->assigned[item];
        HBM_CHECK(s < packing->span_count);
        HBM_CHECK(item <= packing->plan->item_count);
        if (s == packing->home[item]) {
            continue;
        }
        packing->arrival_next[item] = packing->arrival_first[s];
        packing->arrival_first[s] = item;
    }
}

bool hbm_packing_layout(struct packing *packing)
{
    HBM_CHECK(packing->count != 0);
    HBM_CHECK(packing->span_count != 0);
    struct hbm_plan *plan = packing->plan;
    for (size_t i = 0; i < plan->item_count; i++) {
        plan->items[i].target = plan->items[i].address;
    }
    find_arrivals(packing);
    for (uint32_t s = 0; s < packing->span_count; s++) {
        if (is_span_untouched(packing, s) || lay_span_out_in_order(packing, s)) {
            continue;
        }
        if (!lay_span_out_by_align(packing, s)) {
            return false;
        }
    }
    return true;
}
