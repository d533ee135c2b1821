/* A local search from a list of which no single op can go: edits that drop several ops at once, or
 * exchange one thing for another so that something else can go later.  All chance has one seed, so
 * the same list takes the same way. */
#include "harness/shrink/private/shrink_state.h"

#include "harness/base/random.h"
#include "harness/shrink/shrink.h"

#include <string.h>

#define SEARCH_SEED UINT64_C(0x5348524E4B)

struct search {
    struct shrinker *shrinker;
    struct random random;
};

/* Each makes shrinker->trial of the result; false: there is nothing to edit where chance fell. */
typedef bool edit_function(struct search *search);

static size_t draw_op(struct search *search)
{
    return (size_t)random_below(&search->random, search->shrinker->result->ops.count);
}

/* A request that may change its size; the last op is the one that fails. */
static bool draw_request(struct search *search, size_t *i)
{
    const struct op_list *ops = &search->shrinker->result->ops;
    for (int draws = 0; draws < 8; draws++) {
        *i = draw_op(search);
        if (shrinker_is_request(&ops->ops[*i])) {
            return true;
        }
    }
    return false;
}

static void begin_edit(struct search *search)
{
    op_list_copy(&search->shrinker->trial, &search->shrinker->result->ops);
}

/* Leaves count ops out that chance names, with those that name them. */
static void drop_some(struct search *search, int count)
{
    struct shrinker *shrinker = search->shrinker;
    memset(shrinker->keep, true, shrinker->result->ops.count);
    for (int i = 0; i < count; i++) {
        shrinker->keep[draw_op(search)] = false;
    }
    shrinker_drop_namers(shrinker, &shrinker->result->ops);
}

static bool edit_drop(struct search *search)
{
    drop_some(search, (int)random_between(&search->random, 1, 3));
    shrinker_copy_kept(search->shrinker);
    return true;
}

/* One or two requests go with all that names them, and another one, anywhere, grows by their sizes.
 */
static bool edit_join(struct search *search)
{
    struct shrinker *shrinker = search->shrinker;
    const struct op_list *ops = &shrinker->result->ops;
    size_t grown, dropped;
    if (!draw_request(search, &grown)) {
        return false;
    }
    begin_edit(search);
    memset(shrinker->keep, true, ops->count);
    uint64_t *size_bytes = &shrinker->trial.ops[grown].size_bytes;
    const int count = (int)random_between(&search->random, 1, 2);
    for (int i = 0; i < count; i++) {
        if (!draw_request(search, &dropped) || dropped == grown || !shrinker->keep[dropped] ||
            __builtin_add_overflow(*size_bytes, ops->ops[dropped].size_bytes, size_bytes)) {
            return false;
        }
        shrinker->keep[dropped] = false;
    }
    shrinker_drop_namers(shrinker, ops);
    op_list_filter(&shrinker->trial, shrinker->keep);
    return true;
}

/* --- another place --- */

static uint32_t move_reference(uint32_t reference, size_t from, size_t to)
{
    if (reference == OP_NONE) {
        return OP_NONE;
    }
    if (reference == from) {
        return (uint32_t)to;
    }
    if (from < to && reference > from && reference <= to) {
        return reference - 1;
    }
    return to < from && reference >= to && reference < from ? reference + 1 : reference;
}

static bool names_earlier(const struct op *op, size_t i)
{
    return (op->ref == OP_NONE || op->ref < i) && (op->event == OP_NONE || op->event < i);
}

/* An op stands elsewhere, a free earlier, say; behind what it names and before what names it. */
static bool edit_move(struct search *search)
{
    struct op_list *trial = &search->shrinker->trial;
    begin_edit(search);
    const size_t from = draw_op(search), to = draw_op(search);
    const struct op op = trial->ops[from];
    if (from == to) {
        return false;
    }
    if (from < to) {
        memmove(trial->ops + from, trial->ops + from + 1, (to - from) * sizeof op);
    } else {
        memmove(trial->ops + to + 1, trial->ops + to, (from - to) * sizeof op);
    }
    trial->ops[to] = op;
    bool is_valid = true;
    for (size_t i = 0; i < trial->count; i++) {
        struct op *at = &trial->ops[i];
        if ((at->flags & OP_RELATIVE) == 0) {
            at->ref = move_reference(at->ref, from, to);
            at->event = move_reference(at->event, from, to);
            is_valid = is_valid && names_earlier(at, i);
        }
    }
    return is_valid;
}

/* --- another name --- */

static bool makes_the_same(const struct op *a, const struct op *b)
{
    const struct op_kind_info *info_a = op_kind_info(a->kind), *info_b = op_kind_info(b->kind);
    return a->host == b->host && info_a->makes_block == info_b->makes_block &&
           info_a->makes_program == info_b->makes_program &&
           (info_a->makes_block || info_a->makes_program);
}

/* An op acts on another block or program than before. */
static bool edit_redirect(struct search *search)
{
    struct op_list *trial = &search->shrinker->trial;
    begin_edit(search);
    const size_t i = draw_op(search), other = draw_op(search);
    struct op *op = &trial->ops[i];
    if (op->ref >= i || other >= i || other == op->ref || (op->flags & OP_RELATIVE) != 0 ||
        !makes_the_same(&trial->ops[op->ref], &trial->ops[other])) {
        return false;
    }
    op->ref = (uint32_t)other;
    return true;
}

/* One goes, and another one takes over what acts on it. */
static bool edit_take_over(struct search *search)
{
    struct shrinker *shrinker = search->shrinker;
    struct op_list *trial = &shrinker->trial;
    begin_edit(search);
    const size_t gone = draw_op(search), heir = draw_op(search);
    if (gone == heir || !makes_the_same(&trial->ops[gone], &trial->ops[heir])) {
        return false;
    }
    for (size_t i = heir + 1; i < trial->count; i++) {
        struct op *op = &trial->ops[i];
        if (op->ref == gone && (op->flags & OP_RELATIVE) == 0) {
            op->ref = (uint32_t)heir;
        }
    }
    memset(shrinker->keep, true, trial->count);
    shrinker->keep[gone] = false;
    shrinker_drop_namers(shrinker, trial);
    op_list_filter(trial, shrinker->keep);
    return true;
}

/* --- another kind and size --- */

/* The kind that may do the same as one more simply, plus 1; 0: nothing is known of that kind. */
static const uint8_t other_kinds[OP_KIND_COUNT] = {
    [OP_OUTPUT] = OP_ALLOC + 1,      [OP_LOAD] = OP_ALLOC + 1, [OP_DONATE] = OP_FREE + 1,
    [OP_FREE_AFTER] = OP_FREE + 1,   [OP_USE] = OP_HOLD + 1,   [OP_FREE] = OP_FREE_AFTER + 1,
    [OP_ADVANCE] = OP_DEFRAGMENT + 1};

static bool other_kind(struct search *search, const struct op *op, struct op *other)
{
    if (other_kinds[op->kind] == 0) {
        return false;
    }
    *other = op_make((enum op_kind)(other_kinds[op->kind] - 1));
    other->host = op->host;
    other->lane = op->lane;
    if (op_kind_info(other->kind)->has_stream) {
        op_set_stream(other, op_stream(op));
    }
    other->ref = op_kind_info(other->kind)->has_block ? op->ref : OP_NONE;
    other->size_bytes = op_kind_info(other->kind)->has_size ? op->size_bytes : 0;
    if (op->kind == OP_LOAD && op->stack_bytes <= UINT64_MAX - op->size_bytes) {
        other->size_bytes += op->stack_bytes;
    }
    if (other->kind == OP_FREE_AFTER) {
        other->delay_ns = (uint64_t)1 << random_below(&search->random, 40);
    }
    return true;
}

/* One op becomes one of another kind, and up to two others go: of an execution, a use and a free, a
 * later free is left. */
static bool edit_kind(struct search *search)
{
    struct shrinker *shrinker = search->shrinker;
    const size_t i = draw_op(search);
    struct op other;
    if (!other_kind(search, &shrinker->result->ops.ops[i], &other)) {
        return false;
    }
    drop_some(search, (int)random_below(&search->random, 3));
    begin_edit(search);
    if (!shrinker->keep[i]) {
        return false;
    }
    shrinker->trial.ops[i] = other;
    op_list_filter(&shrinker->trial, shrinker->keep);
    return true;
}

static bool edit_size(struct search *search)
{
    const uint64_t granule = shrinker_granule(search->shrinker);
    size_t i, other;
    if (!draw_request(search, &i) || !draw_request(search, &other)) {
        return false;
    }
    begin_edit(search);
    struct op *op = &search->shrinker->trial.ops[i];
    const uint64_t now = op->size_bytes, than = search->shrinker->trial.ops[other].size_bytes;
    const uint64_t sizes[] = {than,          now > than ? now - than : than - now,
                              now + granule, now > granule ? now - granule : now,
                              now / 2,       now < UINT64_MAX / 2 ? now * 2 : now};
    op->size_bytes = sizes[random_below(&search->random, sizeof sizes / sizeof sizes[0])];
    return op->size_bytes != now;
}

/* --- the search --- */

static const struct {
    edit_function *edit;
    uint32_t weight;
} edits[] = {
    {edit_drop, 8},      {edit_join, 8}, {edit_move, 6}, {edit_redirect, 3},
    {edit_take_over, 4}, {edit_kind, 5}, {edit_size, 4},
};
enum { EDIT_COUNT = sizeof edits / sizeof edits[0] };

/* True when the list became shorter. */
static bool search_step(struct search *search)
{
    uint32_t weights[EDIT_COUNT];
    const size_t before = search->shrinker->result->ops.count;
    for (size_t i = 0; i < EDIT_COUNT; i++) {
        weights[i] = edits[i].weight;
    }
    if (!edits[random_weighted(&search->random, weights, EDIT_COUNT)].edit(search) ||
        search->shrinker->trial.count == 0) {
        return false;
    }
    return shrinker_try(search->shrinker) && search->shrinker->result->ops.count < before;
}

/* A list of which nothing can go any more ends a search soon, one that gets shorter again and again
 * later. */
enum { TRIES_PER_COUNT = 5 };

bool shrinker_search(struct shrinker *shrinker)
{
    struct shrink_result *result = shrinker->result;
    struct search search = {.shrinker = shrinker};
    struct op_list whole;
    const struct verdict first = result->first;
    const bool is_minimal = result->is_minimal;
    const uint64_t count_max = shrinker->attempt->search_count_max;
    uint64_t fruitless = 0, tries = 0;
    random_init(&search.random, SEARCH_SEED);
    op_list_init(&whole);
    op_list_copy(&whole, &result->ops);
    while (fruitless < count_max && tries++ / TRIES_PER_COUNT < count_max &&
           result->ops.count > 1 && !shrinker_is_over(shrinker)) {
        fruitless = search_step(&search) ? 0 : fruitless + 1;
    }
    const bool is_shorter = result->ops.count < whole.count;
    if (!is_shorter) {
        op_list_copy(&result->ops, &whole);
        result->first = first;
        result->is_minimal = is_minimal;
    }
    op_list_deinit(&whole);
    return is_shorter;
}
