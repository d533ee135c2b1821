/* Donation: an output takes over the block of an input whose life ends there. */
#include "diagnosis/remedy.h"

#include "diagnosis/private/variant.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The pairs of frees and outputs, by op. */
struct donation_pairs {
    uint32_t *donor_free; /* of outputs: the free whose block it takes over; OP_NONE */
    bool *is_taken;       /* of frees: it becomes part of a donation */
    uint64_t count, bytes;
    bool has_outputs; /* the list tells outputs from other buffers */
};

/* Outputs are what a program makes; in a list that does not tell them from other buffers any buffer
 * may be one. */
static bool is_output(const struct op *op, bool has_outputs)
{
    return op->kind == OP_OUTPUT || (!has_outputs && op->kind == OP_ALLOC);
}

static bool has_outputs(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].kind == OP_OUTPUT || ops->ops[i].kind == OP_DONATE) {
            return true;
        }
    }
    return false;
}

/* True if the input is still needed: something other than its free names the life between the
 * output and the free, or after the free, or it has external references there. */
static bool is_needed(const struct remedy_case *given, uint32_t output, uint32_t end)
{
    const struct remedy_life *lives = given->lives.lives;
    const uint32_t before = lives[end].before;
    return lives[lives[end].root].last_named != end || (before > output && before < end) ||
           lives[before].hold_count > 0;
}

static bool may_donate(const struct remedy_case *given, const struct donation_pairs *pairs,
                       uint32_t end, uint32_t output)
{
    const struct op *ops = given->ops->ops;
    const uint32_t root = given->lives.lives[end].root;
    const bool is_free = ops[end].kind == OP_FREE || ops[end].kind == OP_FREE_AFTER;
    if (!is_free || pairs->is_taken[end] || root == OP_NONE || root >= output ||
        ops[end].host != ops[output].host) {
        return false;
    }
    const uint64_t size = remedy_rounded(ops[output].size_bytes, given->lives.granule_bytes);
    const uint64_t room = given->lives.lives[root].bytes;
    return size <= room && size >= room / 2 && ops[output].align_log2 <= ops[root].align_log2 &&
           !given->lives.lives[end].has_named_event && !is_needed(given, output, end);
}

/* The better donor of two frees: the smaller block, and of equals the earlier one. */
static uint32_t choose_donor(const struct remedy_case *given, uint32_t best, uint32_t end)
{
    const struct remedy_life *lives = given->lives.lives;
    return best == OP_NONE || lives[lives[end].root].bytes < lives[lives[best].root].bytes ? end
                                                                                           : best;
}

/* The free that pairs best with the output, among those between the request before it and the one
 * after it. */
static uint32_t find_donor(const struct remedy_case *given, const struct donation_pairs *pairs,
                           uint32_t output)
{
    const struct op_list *ops = given->ops;
    uint32_t first = output;
    uint32_t best = OP_NONE;
    while (first > 0 && (!remedy_is_request(ops->ops[first - 1].kind) ||
                         ops->ops[first - 1].kind == OP_EXECUTE)) {
        first--;
    }
    for (uint32_t i = first; i < ops->count; i++) {
        const bool is_request = remedy_is_request(ops->ops[i].kind) &&
                                ops->ops[i].kind != OP_EXECUTE;
        if (i > output && is_request) {
            break;
        }
        if (i != output && may_donate(given, pairs, i, output)) {
            best = choose_donor(given, best, i);
        }
    }
    return best;
}

static void find_pairs(const struct remedy_case *given, struct donation_pairs *pairs)
{
    const struct op_list *ops = given->ops;
    pairs->has_outputs = has_outputs(ops);
    pairs->donor_free = malloc((ops->count + 1) * sizeof *pairs->donor_free);
    pairs->is_taken = calloc(ops->count + 1, sizeof *pairs->is_taken);
    CHECK(pairs->donor_free != NULL);
    CHECK(pairs->is_taken != NULL);
    for (uint32_t i = 0; i < ops->count; i++) {
        pairs->donor_free[i] = is_output(&ops->ops[i], pairs->has_outputs)
                                   ? find_donor(given, pairs, i)
                                   : OP_NONE;
        if (pairs->donor_free[i] != OP_NONE) {
            pairs->is_taken[pairs->donor_free[i]] = true;
            pairs->count++;
            pairs->bytes += remedy_rounded(ops->ops[i].size_bytes, given->lives.granule_bytes);
        }
    }
}

static void write_pairs(const struct remedy_case *given, const struct donation_pairs *pairs,
                        struct op_list *to)
{
    struct rewrite rewrite;
    rewrite_init(&rewrite, given->ops, to);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        if (pairs->donor_free[i] != OP_NONE) {
            struct op donation = given->ops->ops[i];
            donation.kind = OP_DONATE;
            donation.align_log2 = 0;
            donation.ref = given->ops->ops[pairs->donor_free[i]].ref;
            rewrite_as(&rewrite, i, &donation);
        } else if (!pairs->is_taken[i]) {
            rewrite_keep(&rewrite, i);
        }
    }
    rewrite_deinit(&rewrite);
}

static bool donation_apply(const struct remedy_case *given, uint64_t parameter,
                           struct remedy_result *result)
{
    (void)parameter;
    if (given->target->donate == NULL) {
        snprintf(result->note, sizeof result->note, "target %.64s accepts no donations",
                 given->target->name);
        return false;
    }
    struct donation_pairs pairs = {0};
    char size[SIZE_TEXT_BYTES];
    find_pairs(given, &pairs);
    write_pairs(given, &pairs, &result->ops);
    size_print_field(pairs.bytes, size);
    free(pairs.donor_free);
    free(pairs.is_taken);
    return remedy_note(result, pairs.count, "no input ends where an output of its size begins",
                       "outputs in the blocks of inputs: %" PRIu64 ", %s%s", pairs.count, size,
                       pairs.has_outputs ? "" : "; any buffer counts as an output");
}

const struct remedy remedy_donation = {
    .name = "donation",
    .summary = "inputs whose life ends where an output begins are donated to it",
    .assumes =
        "The program can be compiled to write the output where the input was, and nothing reads the input "
        "afterwards.",
    .search = REMEDY_EACH,
    .apply = donation_apply,
};
