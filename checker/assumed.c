/* A verdict that is unknown because a message allows two heaps: the one of the document, and the
 * other one, in which nothing is held, or lies where it does, by assumption. */
#include "checker/private/check.h"
#include "checker/private/history.h"

#include <stdlib.h>
#include <string.h>

static const json_int_t reported_max = INT64_C(1) << 62;

struct condition {
    json_int_t bytes, from, to; /* bytes 0: nothing is proved */
};

/* The members of the proof. */
struct assumption {
    struct reported reported;
    struct condition condition;
    json_t *blocks, *placed, *as_it_is, *other;
    json_int_t bytes; /* of the request in the other heap */
};

/* --- reading --- */

static bool is_null(const json_t *json)
{
    return json_typeof(json) == JSON_NULL;
}

static bool read_assumption(struct check *check, struct assumption *assumption)
{
    struct reported *reported = &assumption->reported;
    struct condition *condition = &assumption->condition;
    json_t *message, *unless;
    json_int_t r[2], f[2], image;
    if (!check_unpack(check, check->proof, "proof", "{s:s,s:o,s:o,s:o,s:I,s:o,s:o,s:o}", "kind",
                      &check->kind, "reported", &message, "assumed", &assumption->blocks, "placed",
                      &assumption->placed, "bytes", &assumption->bytes, "premature_unless", &unless,
                      "as_it_is", &assumption->as_it_is, "other", &assumption->other) ||
        !check_is_array(check, assumption->blocks, "assumed") ||
        !check_is_array(check, assumption->placed, "placed")) {
        return false;
    }
    if (!is_null(message)) {
        if (!check_unpack(check, message, "reported", "{s:[I,I!],s:[I,I!],s:I}", "requested", &r[0],
                          &r[1], "free", &f[0], &f[1], "image", &image)) {
            return false;
        }
        *reported = (struct reported){true, {r[0], r[1]}, {f[0], f[1]}, image};
    }
    return is_null(unless) ||
           (check_unpack(check, unless, "premature_unless", "{s:I,s:I,s:I}", "bytes",
                         &condition->bytes, "from", &condition->from, "to", &condition->to) &&
            check_require(check, condition->bytes > 0, "premature_unless: bytes are missing"));
}

/* --- what the message says --- */

static json_int_t find_free(const struct check *check)
{
    json_int_t reserved = 0, taken = 0;
    for (size_t i = 0; i < check->block_count; i++) {
        const struct checked_block *block = &check->blocks[i];
        taken += block->address == IN_HOST_MEMORY ? 0 : block->size;
        reserved = block->used_until != 0 && block->stack > reserved ? block->stack : reserved;
    }
    return check->capacity - reserved - taken;
}

static bool has_reserved(const struct check *check)
{
    for (size_t i = 0; i < check->block_count; i++) {
        if (check->blocks[i].used_until != 0 && check->blocks[i].stack > 0) {
            return true;
        }
    }
    return false;
}

static json_int_t request_bytes(const struct check *check)
{
    return json_integer_value(json_object_get(json_object_get(check->root, "request"), "bytes"));
}

static bool is_of_request(const struct check *check, const struct reported *reported)
{
    const json_int_t amount = check->stack > 0 ? check->stack : request_bytes(check);
    return is_in_range(amount, reported->requested[0],
                       round_up(reported->requested[1], check->granule), 1) &&
           is_in_range(find_free(check), reported->free[0], reported->free[1], 1);
}

static void require_reported(struct check *check, const struct assumption *assumption)
{
    const struct reported *reported = &assumption->reported;
    const json_int_t bytes = request_bytes(check);
    const bool is_image = reported->image > 0 && reported->image < bytes;
    if (reported->is_there) {
        check_require(check,
                      is_in_range(reported->requested[0], 0, reported->requested[1], 1) &&
                          reported->requested[1] <= reported_max &&
                          is_in_range(reported->free[0], 0, reported->free[1], 1) &&
                          reported->free[1] <= reported_max &&
                          is_in_range(reported->image, 0, reported_max, 1),
                      "reported: a number is out of range");
        check_require(check, is_of_request(check, reported),
                      "reported: it is not of this request, or of another heap");
    }
    check_require(check, assumption->bytes == (is_image ? reported->image : bytes),
                  "proof: the bytes of the other heap are wrong");
    check_require(check, !is_image || !check->for_buffer, "reported: a buffer has no image");
}

static bool is_live_buffer(const struct checked_block *block)
{
    return block->is_live && !block->is_program && !block->is_retired;
}

/* True if the block may lie elsewhere in the other heap. */
static bool may_be_placed(const struct check *check, const struct checked_block *block)
{
    return check->defrag == NONE && is_live_buffer(block) && block->address != IN_HOST_MEMORY;
}

/* The next of a list of blocks that ascends, of which `last` was named before; -1 at its end, or
 * when it is wrong. */
static json_int_t take_index(struct check *check, const char *name, const json_t *blocks, size_t i,
                             json_int_t last)
{
    json_int_t index;
    return i < json_array_size(blocks) &&
                   check_unpack(check, json_array_get(blocks, i), name, "I", &index) &&
                   check_require(
                       check, is_in_range(index, last + 1, (json_int_t)check->block_count - 1, 1),
                       "%s: this is no block, or not ascending", name)
               ? index
               : -1;
}

/* Each names a live buffer that is held, ascending; in the other heap it is not held. */
static void release_blocks(struct check *check, const json_t *blocks)
{
    json_int_t index = -1;
    for (size_t i = 0; (index = take_index(check, "assumed", blocks, i, index)) >= 0; i++) {
        struct checked_block *block = &check->blocks[index];
        check_require(check, is_live_buffer(block) && block->holds > 0,
                      "assumed: blocks[%lld] is no buffer that is live and held", (long long)index);
        block->holds = 0;
    }
}

static void place_low(struct check *check, const bool *is_placed)
{
    json_int_t end = 0;
    for (size_t i = 0; i < check->block_count; i++) {
        const struct checked_block *block = &check->blocks[i];
        end = block->used_until != 0 && block->stack > end ? block->stack : end;
    }
    for (size_t i = 0; i < check->block_count; i++) {
        struct checked_block *block = &check->blocks[i];
        if (block->address != IN_HOST_MEMORY) {
            block->address = is_placed[i] ? round_up(end, block->align) : block->address;
            end = block->address + block->size;
        }
    }
}

static void place_high(struct check *check, const bool *is_placed)
{
    json_int_t begin = check->capacity;
    for (size_t i = check->block_count; i-- > 0;) {
        struct checked_block *block = &check->blocks[i];
        if (block->address != IN_HOST_MEMORY) {
            const json_int_t high = begin - block->size;
            block->address = is_placed[i] ? high - high % block->align : block->address;
            begin = block->address;
        }
    }
}

/* Each names a live buffer, ascending, while nothing may move; in the other heap it lies directly
 * above what is below it, and directly below what is above it if a stack is asked for. */
static void place_blocks(struct check *check, const json_t *blocks)
{
    json_int_t index = -1;
    bool *is_placed = calloc(check->block_count + 1, sizeof *is_placed);
    if (!check_has_memory(check, is_placed != NULL)) {
        return;
    }
    for (size_t i = 0; (index = take_index(check, "placed", blocks, i, index)) >= 0; i++) {
        check_require(check, may_be_placed(check, &check->blocks[index]),
                      "placed: blocks[%lld] is no live buffer, or blocks may move",
                      (long long)index);
        is_placed[index] = true;
    }
    if (check->stack > 0) {
        place_high(check, is_placed);
    } else {
        place_low(check, is_placed);
    }
    free(is_placed);
}

/* --- the condition --- */

static struct condition find_condition(const struct check *check,
                                       const struct assumption *assumption)
{
    const struct reported *reported = &assumption->reported;
    const json_int_t unit = check->granule;
    const json_int_t most = round_up(reported->requested[1], unit);
    const json_int_t least = round_up(reported->free[0], unit);
    if (!reported->is_there || check->defrag == NONE || assumption->bytes != request_bytes(check) ||
        most > least || check->align != unit) {
        return (struct condition){0};
    }
    if (check->stack > 0) {
        const json_int_t above = least - most - check->need;
        return above < 0 || has_reserved(check)
                   ? (struct condition){0}
                   : (struct condition){unit, 0, check->capacity - above};
    }
    if (most == unit) {
        return (struct condition){0};
    }
    const json_int_t pins = (least - unit) / (most - unit);
    const json_int_t outside = least - unit - pins * (most - unit);
    const json_int_t below = outside / 2 / unit * unit;
    return (struct condition){pins * unit, below, check->capacity - (outside - below)};
}

static void require_condition(struct check *check, const struct assumption *assumption)
{
    const struct condition right = find_condition(check, assumption);
    const struct condition *said = &assumption->condition;
    check_require(check,
                  said->bytes == right.bytes && said->from == right.from && said->to == right.to,
                  "premature_unless: what follows is %lld bytes from %lld to %lld",
                  (long long)right.bytes, (long long)right.from, (long long)right.to);
}

/* --- the proof --- */

/* The next proof of the same document begins where the first one did. */
static void begin_proof(struct check *check, json_t *proof)
{
    check->proof = proof;
    check->item_count = check->span_count = check->letter = 0;
    check->places = NULL;
    check->log = NULL;
}

static bool is_of_kind(const json_t *proof, const char *kind)
{
    const char *word = json_string_value(json_object_get(proof, "kind"));
    return word != NULL && strcmp(word, kind) == 0;
}

void check_assumed(struct check *check)
{
    struct assumption assumption = {0};
    const json_int_t time = check->time;
    if (!read_assumption(check, &assumption)) {
        return;
    }
    check_require(check, strcmp(check->claim, "unknown") == 0,
                  "proof: its kind does not prove this claim");
    check_require(check, check->placement == RANGES && !check->regions.are_there,
                  "proof: its kind does not match the contract");
    if (check->result == CERTIFICATE_VALID) {
        require_reported(check, &assumption);
        require_condition(check, &assumption);
        check_require(check,
                      json_array_size(assumption.blocks) > 0 ||
                          json_array_size(assumption.placed) > 0 ||
                          assumption.bytes != request_bytes(check),
                      "proof: nothing is assumed");
    }
    if (check->result == CERTIFICATE_VALID) {
        begin_proof(check, assumption.as_it_is);
        check_proof_of(check, "justified");
    }
    if (check->result == CERTIFICATE_VALID) {
        release_blocks(check, assumption.blocks);
        place_blocks(check, assumption.placed);
        check->need = round_up(assumption.bytes, check->granule);
        check->time = time;
        begin_proof(check, assumption.other);
        check_proof_of(check, is_of_kind(assumption.other, "budget") ? "unknown" : "premature");
    }
    check->kind = "assumed";
}

/* --- against a list --- */

static bool has_tag(const struct list *list, const struct checked_block *block,
                    const bool is_tag[UINT8_MAX + 1])
{
    return block->op < (json_int_t)list->op_count && is_tag[list->ops[block->op].tag];
}

static bool is_assumed_by(const struct check *check, const struct list *list,
                          const struct checked_block *block)
{
    (void)check;
    return is_live_buffer(block) && block->holds > 0 && has_tag(list, block, list->is_assumed_tag);
}

static bool is_placed_by(const struct check *check, const struct list *list,
                         const struct checked_block *block)
{
    return may_be_placed(check, block) && has_tag(list, block, list->is_placed_tag);
}

/* The blocks that the proof names are those that the list does. */
static void compare_blocks(struct check *check, const struct list *list, const char *name,
                           const json_t *blocks,
                           bool (*is_by_list)(const struct check *check, const struct list *list,
                                              const struct checked_block *block))
{
    size_t next = 0;
    for (size_t i = 0; i < check->block_count; i++) {
        const json_t *number = json_array_get(blocks, next);
        const bool is_named = number != NULL && json_integer_value(number) == (json_int_t)i;
        check_require(check, is_named == is_by_list(check, list, &check->blocks[i]),
                      "%s: blocks[%zu] is %s by the list", name, i,
                      is_named ? "not one" : "one, too,");
        next += is_named;
    }
}

static bool is_same(const struct reported *a, const struct reported *b)
{
    return a->is_there == b->is_there && a->requested[0] == b->requested[0] &&
           a->requested[1] == b->requested[1] && a->free[0] == b->free[0] &&
           a->free[1] == b->free[1] && a->image == b->image;
}

void assumed_compare(struct check *check, const struct list *list)
{
    struct assumption assumption = {0};
    if (!is_of_kind(check->proof, "assumed") || !read_assumption(check, &assumption)) {
        return;
    }
    compare_blocks(check, list, "assumed", assumption.blocks, is_assumed_by);
    compare_blocks(check, list, "placed", assumption.placed, is_placed_by);
    const bool is_there = list->reported.is_there && is_of_request(check, &list->reported);
    check_require(check,
                  is_there ? is_same(&list->reported, &assumption.reported)
                           : !assumption.reported.is_there,
                  "reported: the list has other numbers");
}
