#include "harness/generate/variation.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/generate/slipping.h"

#include <stdlib.h>
#include <string.h>

/* "vary" and "make", as numbers that no other part of a seed uses. */
#define DRAW_CHANCES UINT64_C(0x0000000076617279)
#define MAKE_CHANCES UINT64_C(0x000000006D616B65)
#define CAPACITY_BYTES_MAX (UINT64_C(1) << 50)
/* No granule that we know is larger than that of CUDA's virtual memory. */
#define UNIT_BYTES_MAX (UINT64_C(2) << 20)

/* --- one list after the other --- */

/* Appends an op of a list that begins at `base` of *to. */
static void append_shifted(const struct op *from, size_t base, struct op_list *to)
{
    struct op op = *from;
    if ((op.flags & OP_RELATIVE) == 0) {
        op.ref += op.ref == OP_NONE ? 0 : (uint32_t)base;
        op.event += op.event == OP_NONE ? 0 : (uint32_t)base;
    }
    op_list_append(to, &op);
}

/* --- what a list leaves --- */

enum left { LEFT_NOTHING = 0, LEFT_BLOCK, LEFT_PROGRAM, LEFT_RECORDING };

/* The end of a list, by op: what it made that is still there, and references to its block. */
struct live_end {
    uint8_t *left; /* enum left */
    uint32_t *hold_counts;
    uint32_t recordings[OP_HOST_COUNT_MAX]; /* that is open; OP_NONE = none is */
    bool is_asleep[OP_HOST_COUNT_MAX];
};

static void note_made(struct live_end *end, const struct op *op, size_t i)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    end->left[i] = info->makes_block       ? LEFT_BLOCK
                   : info->makes_program   ? LEFT_PROGRAM
                   : op->kind == OP_RECORD ? LEFT_RECORDING
                                           : LEFT_NOTHING;
    if (op->kind == OP_RECORD) {
        end->recordings[op->host] = (uint32_t)i;
    } else if (op->kind == OP_RECORD_END) {
        end->recordings[op->host] = OP_NONE;
    } else if (op->kind == OP_SLEEP || op->kind == OP_WAKE) {
        end->is_asleep[op->host] = op->kind == OP_SLEEP;
    }
}

static void note_ended(struct live_end *end, const struct op *op, size_t i)
{
    if (op->ref >= i || (op->flags & OP_RELATIVE) != 0) {
        return;
    }
    if (op_ends_handle(op) || op->kind == OP_RECORD_DROP) {
        end->left[op->ref] = LEFT_NOTHING;
    } else if (op->kind == OP_HOLD) {
        end->hold_counts[op->ref]++;
    } else if (op->kind == OP_RELEASE) {
        end->hold_counts[op->ref] -= end->hold_counts[op->ref] > 0;
    }
}

static void find_live_end(const struct op_list *list, struct live_end *end)
{
    *end = (struct live_end){.left = calloc(list->count + 1, sizeof *end->left),
                             .hold_counts = calloc(list->count + 1, sizeof *end->hold_counts)};
    CHECK(end->left != NULL && end->hold_counts != NULL);
    memset(end->recordings, 0xFF, sizeof end->recordings);
    for (size_t i = 0; i < list->count; i++) {
        note_ended(end, &list->ops[i], i);
        note_made(end, &list->ops[i], i);
    }
}

static void append_on_host(enum op_kind kind, unsigned host, uint32_t ref, struct op_list *to)
{
    struct op op = op_make(kind);
    op.host = (uint8_t)host;
    op.ref = ref;
    op_list_append(to, &op);
}

static void append_end_of(const struct live_end *end, size_t i, size_t base, unsigned host,
                          struct op_list *to)
{
    static const enum op_kind kinds[] = {
        [LEFT_BLOCK] = OP_FREE, [LEFT_PROGRAM] = OP_UNLOAD, [LEFT_RECORDING] = OP_RECORD_DROP};
    const uint32_t ref = (uint32_t)(base + i);
    for (uint32_t k = 0; k < end->hold_counts[i]; k++) {
        append_on_host(OP_RELEASE, host, ref, to);
    }
    if (end->left[i] != LEFT_NOTHING) {
        append_on_host(kinds[end->left[i]], host, ref, to);
    }
}

/* Appends what ends all that the repetition at `base` of *to left. */
static void append_live_end(const struct op_list *list, const struct live_end *end, size_t base,
                            struct op_list *to)
{
    for (unsigned host = 0; host < OP_HOST_COUNT_MAX; host++) {
        if (end->is_asleep[host]) {
            append_on_host(OP_WAKE, host, OP_NONE, to);
        }
        if (end->recordings[host] != OP_NONE) {
            append_on_host(OP_RECORD_END, host, OP_NONE, to);
        }
    }
    for (size_t i = 0; i < list->count; i++) {
        append_end_of(end, i, base, list->ops[i].host, to);
    }
}

void variation_repeat(const struct op_list *from, uint32_t repeat_count, bool frees_live_end,
                      struct op_list *to)
{
    struct live_end end;
    find_live_end(from, &end);
    for (uint32_t i = 0; i < repeat_count; i++) {
        const size_t base = to->count;
        for (size_t k = 0; k < from->count; k++) {
            append_shifted(&from->ops[k], base, to);
        }
        if (frees_live_end && i + 1 < repeat_count) {
            append_live_end(from, &end, base, to);
        }
    }
    free(end.left);
    free(end.hold_counts);
}

/* --- lists side by side --- */

/* The lists that are merged are handed out op by op. */
static bool is_over(const struct given *strand)
{
    return strand->next == strand->ops->count;
}

static void append_run(struct given *strand, uint64_t length, struct op_list *to)
{
    while (!is_over(strand) &&
           (length > 0 || (strand->ops->ops[strand->next].flags & OP_RETRY) != 0)) {
        struct op op;
        CHECK(given_next(strand, (uint32_t)to->count, &op));
        op_list_append(to, &op);
        length -= length > 0;
    }
}

/* Any of those that are not over, of which there is one. */
static struct given *draw_strand(struct random *random, struct given *strands, size_t count)
{
    size_t open_count = 0;
    for (size_t i = 0; i < count; i++) {
        open_count += !is_over(&strands[i]);
    }
    uint64_t drawn = random_below(random, open_count);
    for (size_t i = 0;; i++) {
        if (!is_over(&strands[i]) && drawn-- == 0) {
            return &strands[i];
        }
    }
}

void variation_merge(struct random *random, const struct op_list *const *lists, size_t count,
                     struct op_list *to)
{
    struct given *strands = calloc(count + 1, sizeof *strands);
    size_t left = 0;
    CHECK(strands != NULL);
    for (size_t i = 0; i < count; i++) {
        given_init(&strands[i], lists[i]);
        left += lists[i]->count;
    }
    const size_t end = to->count + left;
    while (to->count < end) {
        struct given *strand = draw_strand(random, strands, count);
        append_run(strand, random_between(random, 1, VARIATION_RUN_COUNT_MAX), to);
    }
    for (size_t i = 0; i < count; i++) {
        given_deinit(&strands[i]);
    }
    free(strands);
}

/* --- hosts --- */

static void copy_to_host(const struct op_list *from, unsigned host, uint64_t start_ns,
                         struct op_list *to)
{
    op_list_init(to);
    if (start_ns > 0) {
        struct op wait = op_make(OP_ADVANCE);
        wait.delay_ns = start_ns;
        op_list_append(to, &wait);
    }
    const size_t base = to->count;
    for (size_t i = 0; i < from->count; i++) {
        append_shifted(&from->ops[i], base, to);
    }
    for (size_t i = 0; i < to->count; i++) {
        to->ops[i].host = (uint8_t)host;
    }
}

static void draw_clock(struct random *random, uint64_t skew_ns, struct setup_clock *clock)
{
    clock->ahead_ns = random_between(random, 0, skew_ns);
    clock->drift = (int32_t)random_between(random, 0, 2 * VARIATION_DRIFT_MAX) -
                   VARIATION_DRIFT_MAX;
}

void variation_spread(struct random *random, const struct op_list *from, uint32_t host_count,
                      uint64_t skew_ns, struct setup *setup, struct op_list *to)
{
    struct op_list copies[OP_HOST_COUNT_MAX];
    const struct op_list *lists[OP_HOST_COUNT_MAX] = {NULL};
    uint64_t start_ns = 0;
    CHECK(host_count >= 1 && host_count <= OP_HOST_COUNT_MAX);
    setup_set_hosts(setup, host_count);
    setup->has_clocks = true;
    for (uint32_t host = 0; host < host_count; host++) {
        if (host > 0) {
            start_ns += random_between(random, 0, skew_ns);
            draw_clock(random, skew_ns, &setup->clocks[host]);
        }
        copy_to_host(from, host, start_ns, &copies[host]);
        lists[host] = &copies[host];
    }
    variation_merge(random, lists, host_count, to);
    for (uint32_t host = 0; host < host_count; host++) {
        op_list_deinit(&copies[host]);
    }
}

/* --- sizes --- */

uint64_t variation_scale_bytes(uint64_t bytes, uint16_t percent)
{
    const uint64_t whole = bytes / 100, rest = bytes % 100 * percent / 100;
    uint64_t scaled;
    if (__builtin_mul_overflow(whole, (uint64_t)percent, &scaled) ||
        __builtin_add_overflow(scaled, rest, &scaled)) {
        return UINT64_MAX;
    }
    return bytes > 0 && scaled == 0 ? 1 : scaled;
}

static void scale_op(struct op *op, uint16_t percent)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    if (!info->has_size || !(info->makes_block || info->makes_program)) {
        return;
    }
    if ((op->flags & OP_FITTED) == 0) {
        op->size_bytes = variation_scale_bytes(op->size_bytes, percent);
    }
    if (info->has_stack) {
        op->stack_bytes = variation_scale_bytes(op->stack_bytes, percent);
    } else if (info->has_unpadded && (op->flags & OP_FITTED) == 0) {
        op->unpadded_bytes = variation_scale_bytes(op->unpadded_bytes, percent);
    }
}

void variation_scale(struct op_list *ops, uint16_t percent)
{
    for (size_t i = 0; i < ops->count; i++) {
        scale_op(&ops->ops[i], percent);
    }
}

/* --- tags --- */

/* The tag of that name, which is added where there is room for it; `otherwise` where there is none.
 */
static uint8_t adopt_name(struct setup *to, const char *name, const bool is_used[OP_TAG_COUNT],
                          uint8_t otherwise)
{
    const unsigned known = setup_tag_named(to, name);
    if (known < OP_TAG_COUNT) {
        return (uint8_t)known;
    }
    for (unsigned tag = 1; tag < OP_TAG_COUNT; tag++) {
        if (to->tags[tag][0] == '\0' && !is_used[tag]) {
            setup_set_tag(to, (uint8_t)tag, name);
            return (uint8_t)tag;
        }
    }
    return otherwise;
}

void variation_adopt_tags(struct setup *to, const struct setup *from, struct op_list *ops)
{
    uint8_t numbers[OP_TAG_COUNT];
    bool is_used[OP_TAG_COUNT] = {false};
    for (size_t i = 0; i < ops->count; i++) {
        const bool is_tag = op_kind_info((enum op_kind)ops->ops[i].kind)->has_tag;
        is_used[ops->ops[i].tag] |= is_tag && from->tags[ops->ops[i].tag][0] == '\0';
    }
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        const char *name = from->tags[tag];
        numbers[tag] = name[0] == '\0' ? (uint8_t)tag : adopt_name(to, name, is_used, (uint8_t)tag);
    }
    for (size_t i = 0; i < ops->count; i++) {
        struct op *op = &ops->ops[i];
        if (op_kind_info((enum op_kind)op->kind)->has_tag) {
            op->tag = numbers[op->tag];
        }
    }
}

/* --- what a trial does --- */

struct variation variation_as_it_is(const struct variation_source *source)
{
    return (struct variation){
        .repeat_count = 1, .percent = 100, .host_count = source->setup->host_count};
}

const char *variation_why_bound(const struct variation_source *source)
{
    if (source->setup->host_count == 1) {
        return NULL;
    }
    for (size_t i = 0; i < source->ops->count; i++) {
        if ((source->ops->ops[i].flags & (OP_COLLECTIVE | OP_SPMD)) != 0) {
            return "its hosts wait for each other or must get the same answers";
        }
    }
    return NULL;
}

/* Returns the op count of a trial that repeats the list so often. */
static uint64_t count_ops(const struct variation_source *source,
                          const struct variation_source *second,
                          const struct variation_bounds *bounds, uint32_t repeat_count,
                          bool interleaves)
{
    const uint64_t once = source->ops->count + (interleaves ? second->ops->count : 0);
    const uint64_t hosts = source->setup->host_count == 1 ? bounds->host_count : 1;
    return once * repeat_count * hosts;
}

static bool may_interleave(const struct variation_source *source,
                           const struct variation_source *second,
                           const struct variation_bounds *bounds)
{
    return bounds->is_interleaved && variation_why_bound(source) == NULL &&
           count_ops(source, second, bounds, 1, true) <= VARIATION_OP_COUNT_MAX;
}

/* Returns how often the list may repeat at most, next to the second list or alone. */
static uint32_t bound_repeat_count(const struct variation_source *source,
                                   const struct variation_source *second,
                                   const struct variation_bounds *bounds, bool interleaves)
{
    const uint64_t once = count_ops(source, second, bounds, 1, interleaves);
    if (variation_why_bound(source) != NULL || once == 0 || once >= VARIATION_OP_COUNT_MAX) {
        return 1;
    }
    const uint64_t most = VARIATION_OP_COUNT_MAX / once;
    return most < bounds->repeat_count_max ? (uint32_t)most : bounds->repeat_count_max;
}

static bool may_scale(const struct variation_bounds *bounds)
{
    return bounds->percent_count > 1 || (bounds->percent_count == 1 && bounds->percents[0] != 100);
}

enum kind { KIND_ALL = 0, KIND_REPEAT, KIND_INTERLEAVE, KIND_SCALE, KIND_COUNT };

/* Returns the kind whose turn the trial is, or KIND_ALL if that kind is not allowed. */
static enum kind choose_kind(const struct variation_source *source,
                             const struct variation_source *second,
                             const struct variation_bounds *bounds, uint64_t trial)
{
    const enum kind kind = (enum kind)(trial % KIND_COUNT);
    const bool is_allowed[] = {[KIND_ALL] = true,
                               [KIND_REPEAT] = bound_repeat_count(source, second, bounds, false) >
                                               1,
                               [KIND_INTERLEAVE] = may_interleave(source, second, bounds),
                               [KIND_SCALE] = may_scale(bounds)};
    return is_allowed[kind] ? kind : KIND_ALL;
}

static uint16_t draw_percent(struct random *random, const struct variation_bounds *bounds)
{
    return bounds->percent_count == 0
               ? 100
               : bounds->percents[random_below(random, bounds->percent_count)];
}

struct variation variation_draw(const struct variation_source *source,
                                const struct variation_source *second,
                                const struct variation_bounds *bounds, uint64_t trial,
                                uint64_t seed)
{
    struct variation variation = variation_as_it_is(source);
    struct random random;
    if (trial == 0) {
        return variation;
    }
    random_init(&random, random_derive(seed, DRAW_CHANCES));
    const enum kind kind = choose_kind(source, second, bounds, trial);
    /* Each is drawn whatever is wanted, so that one bound changes nothing of the others. */
    const bool interleaves = random_chance(&random, 1, 2);
    const uint64_t repeat_chances = random_bits(&random);
    const uint16_t percent = draw_percent(&random, bounds);
    variation.frees_live_end = random_chance(&random, 1, 2);
    variation.scales_capacity = random_chance(&random, 1, 2) && !bounds->keeps_capacity;
    variation.interleaves = may_interleave(source, second, bounds) &&
                            (kind == KIND_INTERLEAVE || (kind == KIND_ALL && interleaves));
    const uint32_t most = bound_repeat_count(source, second, bounds, variation.interleaves);
    if (most > 1 && (kind == KIND_REPEAT || kind == KIND_ALL)) {
        variation.repeat_count = (uint32_t)(2 + repeat_chances % (most - 1));
    }
    variation.percent = kind == KIND_SCALE || kind == KIND_ALL ? percent : 100;
    if (source->setup->host_count == 1) {
        variation.host_count = bounds->host_count;
        variation.skew_ns = bounds->skew_ns;
    }
    return variation;
}

/* --- the whole --- */

/* Leaves groups.  On one host nobody is waited for, and no other answer must be the same: if ops
 * come more than once, or on several hosts, they belong to no group. */
static void leave_groups(const struct variation_source *source, const struct variation *variation,
                         struct op_list *ops)
{
    const bool is_once = variation->repeat_count == 1 && !variation->interleaves &&
                         variation->host_count == 1;
    if (source->setup->host_count > 1 || is_once) {
        return;
    }
    for (size_t i = 0; i < ops->count; i++) {
        struct op *op = &ops->ops[i];
        if ((op->flags & (OP_COLLECTIVE | OP_SPMD)) != 0) {
            op->flags &= (uint8_t) ~(OP_COLLECTIVE | OP_SPMD);
            op->group = 0;
        }
    }
}

/* Returns the unit of a scaled capacity: the granule.  If the list leaves that to the target, it is
 * a power of two that divides the capacity, as any granule does. */
static uint64_t choose_unit(const struct setup *setup, uint64_t scaled)
{
    uint64_t unit = setup->capacity_bytes & (~setup->capacity_bytes + 1);
    if (setup->granule_bytes != 0) {
        return setup->granule_bytes;
    }
    while (unit > UNIT_BYTES_MAX || unit > scaled) {
        unit /= 2;
    }
    return unit;
}

/* Returns the capacity to ask of the device if its capacity is scaled. */
static uint64_t choose_capacity(const struct variation_source *source,
                                const struct variation_source *second,
                                const struct variation *variation)
{
    const uint64_t kept = source->setup->capacity_bytes;
    if (!variation->scales_capacity) {
        return kept;
    }
    const uint64_t both = kept + (variation->interleaves ? second->setup->capacity_bytes : 0);
    uint64_t scaled = variation_scale_bytes(both, variation->percent);
    scaled = scaled < CAPACITY_BYTES_MAX ? scaled : CAPACITY_BYTES_MAX;
    const uint64_t unit = choose_unit(source->setup, scaled);
    return align_down(scaled, unit) >= unit ? align_down(scaled, unit) : unit;
}

static void make_once(const struct variation_source *source, const struct variation_source *second,
                      const struct variation *variation, struct random *random, struct op_list *to)
{
    struct op_list own, other;
    const struct op_list *lists[] = {&own, &other};
    op_list_init(&own);
    op_list_init(&other);
    variation_repeat(source->ops, variation->repeat_count, variation->frees_live_end, &own);
    if (variation->interleaves) {
        variation_repeat(second->ops, variation->repeat_count, variation->frees_live_end, &other);
    }
    variation_merge(random, lists, 2, to);
    op_list_deinit(&own);
    op_list_deinit(&other);
}

void variation_make(const struct variation_source *source, const struct variation_source *second,
                    const struct variation *variation, uint64_t seed, struct setup *setup,
                    struct op_list *ops)
{
    struct random random;
    struct op_list once;
    random_init(&random, random_derive(seed, MAKE_CHANCES));
    setup_copy(setup, source->setup);
    setup->capacity_bytes = choose_capacity(source, second, variation);
    if (setup->capacity_bytes != source->setup->capacity_bytes) {
        setup->chip[0] = '\0';
    }
    op_list_clear(ops);
    op_list_init(&once);
    make_once(source, second, variation, &random, &once);
    leave_groups(source, variation, &once);
    if (setup->host_count == 1 && variation->host_count > 1) {
        variation_spread(&random, &once, variation->host_count, variation->skew_ns, setup, ops);
    } else {
        op_list_copy(ops, &once);
    }
    variation_scale(ops, variation->percent);
    op_list_deinit(&once);
}

uint64_t variation_op_count_max(const struct variation_source *source,
                                const struct variation_source *second,
                                const struct variation_bounds *bounds)
{
    const uint64_t alone = bound_repeat_count(source, second, bounds, false);
    const bool interleaves = may_interleave(source, second, bounds);
    const uint64_t both = bound_repeat_count(source, second, bounds, true);
    const uint64_t longest = count_ops(source, second, bounds, (uint32_t)alone, false);
    const uint64_t merged = count_ops(source, second, bounds, (uint32_t)both, interleaves);
    return longest > merged ? longest : merged;
}
