/* Gradient accumulation: the batch goes through in n parts, and the gradients wait in buffers of
 * their own. */
#include "diagnosis/private/variant.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* True if the tag's name contains the word, in small letters. */
static bool has_word(const struct setup *setup, uint8_t tag, const char *word)
{
    return strstr(setup->tags[tag], word) != NULL;
}

static bool is_parameter_tag(const struct setup *setup, uint8_t tag)
{
    return has_word(setup, tag, "param") || has_word(setup, tag, "weight");
}

/* True if op i makes a block that exists when the steps begin and outlives at least two of
 * them. */
static bool is_outliving_steps(const struct remedy_case *given, uint32_t i)
{
    const struct remedy_life *life = &given->lives.lives[i];
    const struct remedy_steps *steps = &given->steps;
    return life->root == i && given->ops->ops[i].kind != OP_LOAD && i < steps->bounds[0] &&
           !steps->is_of_step[i] &&
           (life->end == OP_NONE || (steps->count > 2 && life->end > steps->bounds[2]));
}

/* True if tags name the parameters: then only blocks of such tags count. */
static bool has_named_parameters(const struct remedy_case *given)
{
    for (uint32_t i = 0; i < given->steps.bounds[0]; i++) {
        if (is_outliving_steps(given, i) &&
            is_parameter_tag(given->setup, given->ops->ops[i].tag)) {
            return true;
        }
    }
    return false;
}

/* Appends a buffer for the gradients of each parameter; returns their bytes. */
static uint64_t add_gradients(const struct remedy_case *given, struct rewrite *rewrite)
{
    const bool is_named = has_named_parameters(given);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < given->steps.bounds[0]; i++) {
        const struct op *op = &given->ops->ops[i];
        if (is_outliving_steps(given, i) &&
            (!is_named || is_parameter_tag(given->setup, op->tag))) {
            struct op gradient = *op;
            gradient.kind = OP_ALLOC;
            rewrite_add(rewrite, &gradient);
            bytes += given->lives.lives[i].bytes;
        }
    }
    return bytes;
}

static bool accumulation_apply(const struct remedy_case *given, uint64_t parameter,
                               struct remedy_result *result)
{
    struct remedy_sizes sizes;
    struct op_list divided;
    struct rewrite rewrite;
    bool is_gradient[OP_TAG_COUNT];
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        is_gradient[tag] = has_word(given->setup, (uint8_t)tag, "grad");
    }
    op_list_init(&divided);
    remedy_sizes_init(&sizes, given, &divided);
    const bool divides = remedy_sizes_divide_steps(&sizes, given, parameter, is_gradient);
    rewrite_init(&rewrite, &divided, &result->ops);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < divided.count; i++) {
        bytes += i == given->steps.bounds[0] ? add_gradients(given, &rewrite) : 0;
        rewrite_keep(&rewrite, i);
    }
    rewrite_deinit(&rewrite);
    op_list_deinit(&divided);
    snprintf(result->note, sizeof result->note, "sizes divided: %" PRIu64 "; waiting gradients: %s",
             sizes.changed_count, size_text_of(bytes).text);
    if (!divides || bytes == 0) {
        snprintf(result->note, sizeof result->note, "%s",
                 divides ? "no block from before the steps outlives them, so no parameter is known"
                         : "nothing but gradients lives within a step");
    }
    return divides && bytes > 0;
}

const struct remedy remedy_accumulation = {
    .name = "accumulation",
    .summary = "gradients are accumulated over n parts of the batch",
    .parameter_name = "n",
    .assumes =
        "What lives within a step, except gradients, grows with the batch; waiting gradients are as large as the parameters.",
    .is_estimate = true,
    .search = REMEDY_FIRST,
    .parameter = remedy_sizes_divisor,
    .apply = accumulation_apply,
};
