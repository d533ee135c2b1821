#include "diagnosis/private/variant.h"

#include <stdio.h>

/* The first mitigation decides what a request costs.  The order of the others only decides which of
 * them is not asked any more. */
static const struct remedy_order {
    enum mitigation first;
    const char *value, *label;
} orders[] = {
    {MITIGATION_DRAIN, "drain,defragment,evict", "drain-first"},
    {MITIGATION_DEFRAGMENT, "defragment,drain,evict", "defragment-first"},
    {MITIGATION_EVICT, "evict,drain,defragment", "evict-first"},
};
enum { ORDER_COUNT = sizeof orders / sizeof *orders };

static bool order_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                            char note[REMEDY_NOTE_BYTES])
{
    size_t current = 0;
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        current = orders[i].first == given->contract->order[0] ? i : current;
    }
    return remedy_option_parameter(given, "order", ORDER_COUNT, current, index, parameter, note);
}

static void order_label(const struct remedy_case *given, uint64_t parameter,
                        char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    snprintf(text, REMEDY_LABEL_BYTES, "%s", orders[parameter].label);
}

static bool order_apply(const struct remedy_case *given, uint64_t parameter,
                        struct remedy_result *result)
{
    return remedy_option_apply(given, "order", orders[parameter].value, result);
}

const struct remedy remedy_order = {
    .name = "order",
    .summary = "another mitigation first",
    .parameter_name = "order",
    .assumes = "The allocator can be configured this way.",
    .search = REMEDY_EACH,
    .parameter = order_parameter,
    .label = order_label,
    .apply = order_apply,
};
