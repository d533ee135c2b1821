#include "ladder/versus/versus.h"

#include "campaign/plan/lookup.h"
#include "harness/base/check.h"

const char *versus_contract_name(enum versus_contract contract)
{
    static const char *const names[VERSUS_CONTRACT_COUNT] = {
        [VERSUS_UNSAID] = "declared",   [VERSUS_OLD] = "old",           [VERSUS_NEW] = "new",
        [VERSUS_DECLARED] = "declared", [VERSUS_INFERRED] = "inferred", [VERSUS_NONE] = "none"};
    return names[contract];
}

struct target_reply versus_ask(struct versus *versus, void (*work)(void *context, int file),
                               void *context, void *to, size_t length)
{
    const struct target_question question = {versus->options->run, &versus->death, work, context};
    return target_ask(&question, to, length, NULL, 0);
}

const struct target *versus_load(const struct versus_side *side)
{
    const struct target *target;
    CHECK(lookup_target(side->name, &target) == EXIT_KEPT);
    return target;
}

/* --- regressions --- */

static bool is_served(uint8_t answer)
{
    return answer == ANSWER_GRANTED;
}

static void compare_answers(const struct versus_row *old_row, const struct versus_row *new_row,
                            size_t op_count, struct versus_result *result)
{
    for (size_t i = 0; i < op_count; i++) {
        const uint8_t old_answer = old_row->answers[i], new_answer = new_row->answers[i];
        if (is_served(old_answer) && new_answer == ANSWER_REFUSED) {
            result->first_op = result->only_old_count++ == 0 ? (uint32_t)i : result->first_op;
        } else if (old_answer == ANSWER_REFUSED && is_served(new_answer)) {
            result->only_new_count++;
        }
    }
}

/* Percent of the refusals that were judged either way. */
static double find_share(const struct judged *judged)
{
    const uint64_t decided = judged->justified + judged->premature;
    return decided == 0 ? 0 : 100.0 * (double)judged->premature / (double)decided;
}

static bool is_more_premature(const struct versus_options *options, const struct judged *old_one,
                              const struct judged *new_one)
{
    return new_one->premature > old_one->premature &&
           find_share(new_one) > find_share(old_one) + (double)options->premature_max;
}

/* One that no capacity serves needs more than any. */
static bool is_larger(const struct versus_options *options, const struct smallest *old_one,
                      const struct smallest *new_one)
{
    if (old_one->bytes == 0) {
        return false;
    }
    return new_one->bytes == 0 ||
           (double)new_one->bytes >
               (double)old_one->bytes * (1 + (double)options->capacity_max / 100.0);
}

static bool is_costlier(const struct versus_options *options, const struct cost *old_one,
                        const struct cost *new_one)
{
    if (!options->has_cost_max || old_one->instructions == 0 || new_one->instructions == 0) {
        return false;
    }
    const double old_each = (double)old_one->instructions / (double)old_one->op_count;
    const double new_each = (double)new_one->instructions / (double)new_one->op_count;
    return new_each > old_each * (1 + (double)options->cost_max / 100.0);
}

/* It keeps less than the other one, or nothing. */
static unsigned find_harm(const struct judged *old_one, const struct judged *new_one)
{
    const bool has_ended = old_one->end == JUDGED_WHOLE && new_one->end != JUDGED_WHOLE;
    if (new_one->end == JUDGED_DIED && old_one->end != JUDGED_DIED) {
        return VERSUS_DIES;
    }
    return has_ended || (new_one->broken > 0 && old_one->broken == 0) ? VERSUS_BREAKS : 0;
}

void versus_judge(const struct versus_options *options, const struct versus_row *old_row,
                  const struct versus_row *new_row, size_t op_count, struct versus_result *result)
{
    *result = (struct versus_result){.first_op = OP_NONE};
    compare_answers(old_row, new_row, op_count, result);
    result->regressions = find_harm(&old_row->judged, &new_row->judged);
    if (new_row->judged.end == JUDGED_WHOLE && old_row->judged.end == JUDGED_WHOLE) {
        if (new_row->judged.ooms > old_row->judged.ooms + options->refused_max) {
            result->regressions |= VERSUS_REFUSES;
        }
        if (is_more_premature(options, &old_row->judged, &new_row->judged)) {
            result->regressions |= VERSUS_IS_PREMATURE;
        }
    }
    if (is_larger(options, &old_row->smallest, &new_row->smallest)) {
        result->regressions |= VERSUS_NEEDS_MORE;
    }
    if (is_costlier(options, &old_row->cost, &new_row->cost)) {
        result->regressions |= VERSUS_COSTS_MORE;
    }
}
