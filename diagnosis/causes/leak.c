#include "diagnosis/private/findings.h"
#include "diagnosis/strength.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    FREED_DIVISOR = 3,
    STEP_COUNT_MIN = 16,    /* of a list with fewer, what piles up over it may be one step's */
    STEP_COUNT_ENOUGH = 64, /* for what piles up to be seen without them */
    STEP_COUNT_MANY = 256   /* no model has so many layers that one step looks like these */
};

/* The finding for one tag: what the steps kept, what piles up over the list, or both. */
struct leak_finding {
    uint8_t tag;
    bool is_kept, is_piled;
    struct keeps keeps;
    struct leak_pile pile;
    uint32_t other_count; /* tags that pile up as well */
};

static void describe_blocks(const struct evidence *evidence, const struct leak_finding *found,
                            struct diagnosis *diagnosis)
{
    const struct keeps *keeps = &found->keeps;
    const struct survivors *piled = &found->pile.survivors;
    const uint64_t count = found->is_kept ? keeps->count : piled->count;
    const uint64_t bytes = found->is_kept ? keeps->bytes : piled->bytes;
    const uint64_t least = found->is_kept ? keeps->least_bytes : piled->least_bytes;
    const uint64_t most = found->is_kept ? keeps->most_bytes : piled->most_bytes;
    const uint64_t end = found->is_kept ? evidence->history->op_count : piled->end_window_op;
    diagnosis->op = found->is_kept ? keeps->first_op : piled->first_op;
    diagnosis_number(diagnosis, "leaked_bytes", bytes);
    diagnosis_number(diagnosis, "leaked_blocks", count);
    if (evidence->host_count > 1) {
        diagnosis_describe(diagnosis, "On host %u ", evidence->host);
    }
    diagnosis_describe(diagnosis, "'%s' piles up: %" PRIu64 " blocks of %s",
                       evidence_tag_name(evidence, found->tag).text, count,
                       size_text_of(least).text);
    if (least != most) {
        diagnosis_describe(diagnosis, " to %s", size_text_of(most).text);
    }
    diagnosis_describe(diagnosis,
                       ", %s in all, allocated again and again since op %u, were never freed: ",
                       size_text_of(bytes).text, diagnosis->op);
    leak_describe_rate(evidence, bytes, diagnosis->op, end, diagnosis);
    diagnosis_describe(diagnosis, ".");
}

static void describe_steps(const struct cycles *cycles, const struct leak_finding *found,
                           struct diagnosis *diagnosis)
{
    const struct keeps *keeps = &found->keeps;
    const size_t since = cycles->swings.count - keeps->first_cycle;
    diagnosis_number(diagnosis, "steps", since);
    diagnosis_number(diagnosis, "steps_that_kept", keeps->cycle_count);
    diagnosis_describe(diagnosis,
                       " Memory rose and fell %zu times since then, and %zu of these steps left"
                       " some behind; %" PRIu64 " of its kind were freed so late.",
                       since, keeps->cycle_count, keeps->freed_count);
}

static void describe_trend(const struct leak_pile *pile, struct diagnosis *diagnosis)
{
    const struct trend *trend = &pile->trend;
    if (pile->answer == TREND_GROWS) {
        diagnosis_describe(
            diagnosis,
            " The least that it falls back to rises as well (z %.1f, and %.1f as a drift; it rose in %u of %u windows).",
            trend->z_order, trend->z_drift, trend->rising_count, trend->window_count);
        diagnosis_number(diagnosis, "trend_z_tenths", (uint64_t)(trend->z_order * 10));
    } else {
        diagnosis_describe(diagnosis, " The total bytes of the tag do not show it (the floor: %s).",
                           trend_answer_name(pile->answer));
    }
}

static enum strength find_strength(const struct leak_finding *found)
{
    if (found->is_kept && found->is_piled) {
        return STRENGTH_LEAK_BOTH;
    }
    return found->is_kept ? STRENGTH_LEAK_STEPS : STRENGTH_LEAK_PILES;
}

static void describe_leak(const struct evidence *evidence, const struct cycles *cycles,
                          const struct leak_finding *found, struct diagnosis *diagnosis)
{
    diagnosis_tag(diagnosis, found->tag);
    strength_set(diagnosis, find_strength(found));
    diagnosis->kind = !found->is_piled ? "steps" : found->is_kept ? "steps_and_list" : "list";
    describe_blocks(evidence, found, diagnosis);
    if (found->is_kept) {
        describe_steps(cycles, found, diagnosis);
    }
    if (found->is_piled) {
        describe_trend(&found->pile, diagnosis);
    }
    const uint64_t bytes = found->is_kept ? found->keeps.bytes : found->pile.survivors.bytes;
    if (evidence_has_oom(evidence) && bytes < evidence->missing_bytes) {
        strength_set(diagnosis, STRENGTH_LEAK_BESIDE);
        diagnosis_describe(diagnosis, " That is less than the missing %s.",
                           size_text_of(evidence->missing_bytes).text);
    }
    if (found->other_count > 0) {
        diagnosis_describe(diagnosis, " %u other tag%s also seem%s to pile up.", found->other_count,
                           found->other_count == 1 ? "" : "s", found->other_count == 1 ? "s" : "");
    }
}

/* A floor that rises counts for more than bytes. */
static bool is_worse(const struct leak_pile *one, const struct leak_pile *other)
{
    if ((one->answer == TREND_GROWS) != (other->answer == TREND_GROWS)) {
        return one->answer == TREND_GROWS;
    }
    return one->survivors.bytes > other->survivors.bytes;
}

/* True if the steps since then left more behind than each swings.  One step does so: a forward pass
 * keeps what its layers made, and initialisation what it makes for each tensor. */
static bool is_one_step(const struct cycles *cycles, uint32_t first_op, uint64_t bytes)
{
    const uint64_t steps = cycles_count_steps(cycles, cycles_find(cycles, first_op));
    return steps < STEP_COUNT_MANY && bytes / (steps + 1) > cycles->swings.swing_bytes;
}

/* True if blocks pile up over the whole list.  Enough steps since the first block must be seen,
 * otherwise one step might have made them all. */
static bool is_piled(const struct evidence *evidence, const struct cycles *cycles, uint8_t tag,
                     struct survivors survivors[SURVIVORS_PART_COUNT][OP_TAG_COUNT],
                     struct leak_pile *pile)
{
    if (!leak_has_tag(evidence, tag) ||
        !leak_piles_up(evidence, tag, leak_tag_count(evidence), survivors, pile)) {
        return false;
    }
    const size_t first = cycles_find(cycles, pile->survivors.first_op);
    return cycles->are_many ||
           (cycles_count_steps(cycles, first) >= STEP_COUNT_MIN &&
            !is_one_step(cycles, pile->survivors.first_op, pile->survivors.bytes));
}

/* True if steps kept blocks.  Over many steps that counts only beside a pile: leftovers pile up. */
static bool is_kept(const struct cycles *cycles, const struct keeps *keeps, bool is_alone)
{
    const bool are_few = !cycles->are_many && cycles_count_steps(cycles, 0) < STEP_COUNT_ENOUGH;
    return keeps->count > 0 && !is_one_step(cycles, keeps->first_op, keeps->bytes) &&
           (are_few || !is_alone);
}

/* Many blocks of the tag were freed as late: what piles up is a cache or a set, and no leak. */
static bool is_replaced(const struct cycles *cycles, const struct long_lives *lives)
{
    return cycles->swings.settled_count >= STEP_COUNT_MIN &&
           lives->freed_count * FREED_DIVISOR > lives->live_count;
}

/* A finding that piles up counts as worse than one that steps keep. */
static bool is_worse_finding(const struct leak_finding *one, const struct leak_finding *other)
{
    if (one->is_piled != other->is_piled) {
        return one->is_piled;
    }
    return one->is_piled ? is_worse(&one->pile, &other->pile)
                         : one->keeps.bytes > other->keeps.bytes;
}

static void find_worst(const struct evidence *evidence, const struct cycles *cycles,
                       struct leak_finding *worst)
{
    struct keeps keeps[OP_TAG_COUNT];
    struct long_lives lives[OP_TAG_COUNT];
    struct survivors(*survivors)[OP_TAG_COUNT] = leak_survivors(evidence);
    uint32_t count = 0;
    cycles_find_keeps(cycles, evidence, keeps);
    cycles_count_long_lives(cycles, evidence, lives);
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        struct leak_finding found = {.tag = (uint8_t)tag, .keeps = keeps[tag]};
        found.is_piled = is_piled(evidence, cycles, (uint8_t)tag, survivors, &found.pile);
        found.is_kept = is_kept(cycles, &keeps[tag], !found.is_piled);
        found.is_piled = found.is_piled && (found.is_kept || !is_replaced(cycles, &lives[tag]));
        if (!found.is_piled && !found.is_kept) {
            continue;
        }
        if (count++ == 0 || is_worse_finding(&found, worst)) {
            *worst = found;
        }
    }
    free(survivors);
    worst->other_count = count > 0 ? count - 1 : 0;
}

static void find_leak(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct cycles cycles;
    struct leak_finding found = {0};
    if (evidence->history->op_count < LEAK_OP_COUNT_MIN || !leak_life_goes_on(evidence)) {
        return;
    }
    cycles_init(&cycles, evidence);
    find_worst(evidence, &cycles, &found);
    if (found.is_kept || found.is_piled) {
        describe_leak(evidence, &cycles, &found, diagnosis);
    }
    cycles_deinit(&cycles);
}

const struct cause cause_leak = {
    .name = "leak",
    .summary = "blocks of one tag are allocated all the time and never freed",
    .claim = CLAIM_GROWTH,
    .find = find_leak,
    .remedies = {&remedy_release},
};
