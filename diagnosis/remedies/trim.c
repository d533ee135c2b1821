/* Trim: the batch, or the longest input, is a few percent smaller, where half of it is more than
 * what is missing. */
#include "diagnosis/advice.h"
#include "diagnosis/private/variant.h"

#include <string.h>

enum { PERCENT_COUNT = 3 };
static const unsigned percents[PERCENT_COUNT] = {2, 10, 25};

static bool trim_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                           char note[REMEDY_NOTE_BYTES])
{
    (void)given;
    note[0] = '\0';
    *parameter = percents[index < PERCENT_COUNT ? index : 0];
    return index < PERCENT_COUNT;
}

/* True if the program did not ask for that memory, or if it grows only with the model. */
static bool is_fixed(const struct setup *setup, uint8_t tag)
{
    const char *name = setup->tags[tag];
    return strcmp(name, SETUP_FILLER_NAME) == 0 || strcmp(name, SETUP_RESERVED_NAME) == 0 ||
           strcmp(name, SETUP_BEFORE_NAME) == 0 || setup_is_outside_name(name) ||
           advice_name_is_of_model(name);
}

static bool grows_with_the_batch(const struct remedy_case *given, size_t i)
{
    const struct op *op = &given->ops->ops[i];
    const uint32_t root = given->lives.lives[i].root;
    if (!op_kind_info((enum op_kind)op->kind)->makes_block || op->kind == OP_LOAD ||
        root == OP_NONE || is_fixed(given->setup, given->ops->ops[root].tag)) {
        return false;
    }
    return given->steps.count == 0 || given->steps.is_of_step[root];
}

static bool trim_apply(const struct remedy_case *given, uint64_t parameter,
                       struct remedy_result *result)
{
    struct remedy_sizes sizes;
    remedy_sizes_init(&sizes, given, &result->ops);
    for (size_t i = 0; i < given->ops->count; i++) {
        const uint64_t size_bytes = given->ops->ops[i].size_bytes;
        const uint64_t less_bytes = size_bytes / 100 * parameter;
        if (less_bytes > 0 && grows_with_the_batch(given, i)) {
            remedy_sizes_set(&sizes, i, size_bytes - less_bytes);
        }
    }
    remedy_sizes_settle(&sizes, &given->lives);
    return remedy_sizes_note(&sizes, "trimmed", "nothing is seen to grow with the batch", result);
}

const struct remedy remedy_trim = {
    .name = "trim",
    .summary = "the batch, or the longest input, is n percent smaller",
    .parameter_name = "n",
    .assumes =
        "What lives within a step grows with the batch; where no step is seen, all but parameters "
        "and optimizer state, by their names.",
    .is_estimate = true,
    .search = REMEDY_FIRST,
    .parameter = trim_parameter,
    .apply = trim_apply,
};
