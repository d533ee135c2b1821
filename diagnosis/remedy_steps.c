#include "diagnosis/remedy_steps.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

/* The search for a period tries distances from the last requests back to the same ones before. */
enum { ANCHOR_COUNT = 32, DISTANCE_COUNT = 8, PERIODS_COMPARED = 4 };
/* Shares in percent. */
enum { PERIOD_PERCENT = 90, STEP_PERCENT = 75 };

/* The requests of a list as numbers: equal ones are the same request of another step. */
struct step_symbols {
    uint64_t *symbols; /* count of them */
    uint32_t *ops;     /* the op of each */
    size_t count;
};

enum likeness { SAME_SIZE, SAME_TAG, SAME_PROGRAM, LIKENESS_COUNT };

static uint64_t mix_hash(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t make_symbol(const struct op_list *ops, const struct op *op, enum likeness likeness)
{
    const bool names_program = op->kind == OP_EXECUTE && op->ref < ops->count;
    uint64_t hash = mix_hash(op->kind, op->host);
    hash = mix_hash(hash, names_program ? ops->ops[op->ref].tag : op->tag);
    return likeness == SAME_SIZE ? mix_hash(hash, op->size_bytes) : hash;
}

static void symbols_init(struct step_symbols *symbols, const struct op_list *ops,
                         enum likeness likeness)
{
    symbols->count = 0;
    symbols->symbols = malloc((ops->count + 1) * sizeof *symbols->symbols);
    symbols->ops = malloc((ops->count + 1) * sizeof *symbols->ops);
    CHECK(symbols->symbols != NULL);
    CHECK(symbols->ops != NULL);
    for (uint32_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if (remedy_is_request(op->kind) && (likeness != SAME_PROGRAM || op->kind == OP_EXECUTE)) {
            symbols->symbols[symbols->count] = make_symbol(ops, op, likeness);
            symbols->ops[symbols->count++] = i;
        }
    }
}

static void symbols_deinit(struct step_symbols *symbols)
{
    free(symbols->symbols);
    free(symbols->ops);
}

/* True if the count requests before `end` match, to that share, those of one period earlier. */
static bool is_repeated(const struct step_symbols *symbols, size_t end, size_t count, size_t period,
                        unsigned percent)
{
    size_t same = 0;
    for (size_t i = end - count; i < end; i++) {
        same += symbols->symbols[i] == symbols->symbols[i - period];
    }
    return same * 100 >= count * percent;
}

static bool is_period(const struct step_symbols *symbols, size_t period)
{
    const size_t behind = symbols->count - period;
    const size_t count = behind < PERIODS_COMPARED * period ? behind : PERIODS_COMPARED * period;
    return REMEDY_PERIOD_COUNT_MIN * period <= symbols->count &&
           is_repeated(symbols, symbols->count, count, period, PERIOD_PERCENT);
}

/* The least period among the distances from one request to the same before it; 0 = none. */
static size_t find_period_from(const struct step_symbols *symbols, size_t anchor, size_t least)
{
    size_t found = 0;
    for (size_t i = anchor; i-- > 0 && found < DISTANCE_COUNT;) {
        const size_t period = anchor - i;
        if (REMEDY_PERIOD_COUNT_MIN * period > symbols->count || (least != 0 && period >= least)) {
            return least;
        }
        if (symbols->symbols[i] == symbols->symbols[anchor]) {
            found++;
            if (is_period(symbols, period)) {
                return period;
            }
        }
    }
    return least;
}

/* 0 = none; requests that are all the same repeat, but say nothing of steps. */
static size_t find_period(const struct step_symbols *symbols)
{
    size_t least = 0;
    for (size_t i = 0; i < ANCHOR_COUNT && i < symbols->count; i++) {
        least = find_period_from(symbols, symbols->count - 1 - i, least);
    }
    return least < 2 ? 0 : least;
}

/* --- markers: ops that lie one period apart --- */

struct markers {
    uint32_t *ops; /* count of them, descending */
    size_t count;
};

static void mark_periods(struct markers *markers, const struct step_symbols *symbols, size_t period)
{
    size_t at = symbols->count - 1;
    markers->ops[markers->count++] = symbols->ops[at];
    for (; at >= period; at -= period) {
        const bool is_last = at + 1 == symbols->count;
        if (!is_last && !is_repeated(symbols, at + period + 1, period, period, STEP_PERCENT)) {
            break;
        }
        markers->ops[markers->count++] = symbols->ops[at - period];
    }
}

/* Returns the program, by its tag, that is executed most often; the first of equals wins. */
static uint64_t find_most_executed(const struct step_symbols *symbols)
{
    uint64_t best = 0;
    size_t most = 0;
    for (size_t i = 0; i < symbols->count && i < OP_TAG_COUNT; i++) {
        size_t count = 0;
        for (size_t k = 0; k < symbols->count; k++) {
            count += symbols->symbols[k] == symbols->symbols[i];
        }
        best = count > most ? symbols->symbols[i] : best;
        most = count > most ? count : most;
    }
    return best;
}

static void mark_executions(struct markers *markers, const struct step_symbols *symbols)
{
    const uint64_t program = find_most_executed(symbols);
    for (size_t i = symbols->count; i-- > 0;) {
        if (symbols->symbols[i] == program) {
            markers->ops[markers->count++] = symbols->ops[i];
        }
    }
}

static void find_markers(struct markers *markers, const struct op_list *ops)
{
    for (unsigned likeness = 0;
         likeness < LIKENESS_COUNT && markers->count < REMEDY_PERIOD_COUNT_MIN; likeness++) {
        struct step_symbols symbols;
        markers->count = 0;
        symbols_init(&symbols, ops, (enum likeness)likeness);
        const size_t period = likeness == SAME_PROGRAM ? 0 : find_period(&symbols);
        if (period != 0) {
            mark_periods(markers, &symbols, period);
        } else if (likeness == SAME_PROGRAM) {
            mark_executions(markers, &symbols);
        }
        symbols_deinit(&symbols);
    }
}

/* --- steps --- */

/* The op in (after, to] before which the least is live; the first of equals. */
static uint32_t find_lowest_between(const struct remedy_lives *lives, uint32_t after, uint32_t to)
{
    uint32_t lowest = after + 1;
    for (uint32_t i = after + 2; i <= to; i++) {
        lowest = lives->live_bytes[i] < lives->live_bytes[lowest] ? i : lowest;
    }
    return lowest;
}

static void set_bounds(struct remedy_steps *steps, const struct markers *markers,
                       const struct remedy_lives *lives)
{
    if (markers->count < REMEDY_PERIOD_COUNT_MIN) {
        return;
    }
    for (size_t i = markers->count - 1; i > 0; i--) {
        steps->bounds[steps->count++] = find_lowest_between(lives, markers->ops[i],
                                                            markers->ops[i - 1]);
    }
    CHECK(steps->count >= 2);
    steps->length = (uint32_t)((steps->bounds[steps->count - 1] - steps->bounds[0]) /
                               (steps->count - 1));
}

/* Lives of one kind, host, tag and size: whether most of those that ended did so within a step. */
struct family {
    uint64_t symbol;
    uint64_t within, beyond;
};

static struct family *find_family(struct family *families, size_t room, uint64_t symbol)
{
    size_t i = symbol % room;
    while (families[i].within + families[i].beyond > 0 && families[i].symbol != symbol) {
        i = (i + 1) % room;
    }
    families[i].symbol = symbol;
    return &families[i];
}

static bool is_short(const struct remedy_steps *steps, const struct remedy_life *life, uint32_t i)
{
    return life->end != OP_NONE && life->end - i <= steps->length;
}

/* A life that did not end, because the list did, is what its like were; one without its like in
 * size, what those of its tag were. */
static void judge_unended(struct remedy_steps *steps, const struct op_list *ops,
                          const struct remedy_lives *lives, struct family *families, size_t room)
{
    const uint32_t last_bound = steps->bounds[steps->count - 1];
    for (uint32_t i = last_bound < steps->length ? 0 : last_bound - steps->length; i < ops->count;
         i++) {
        if (lives->lives[i].root != i || lives->lives[i].end != OP_NONE ||
            ops->ops[i].kind == OP_LOAD) {
            continue;
        }
        const struct family *family = find_family(families, room,
                                                  make_symbol(ops, &ops->ops[i], SAME_SIZE));
        if (family->within + family->beyond == 0) {
            family = find_family(families, room, make_symbol(ops, &ops->ops[i], SAME_TAG));
        }
        steps->is_of_step[i] = family->within > family->beyond;
    }
}

static void find_lives_of_steps(struct remedy_steps *steps, const struct op_list *ops,
                                const struct remedy_lives *lives)
{
    const size_t room = 4 * ops->count + 1; /* two of them a life, half empty */
    struct family *families = calloc(room, sizeof *families);
    CHECK(families != NULL);
    for (uint32_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        const struct remedy_life *life = &lives->lives[i];
        if (life->root != i || op->kind == OP_LOAD) {
            continue;
        }
        steps->is_of_step[i] = is_short(steps, life, i);
        const bool is_beyond = !steps->is_of_step[i] && ops->count - i > steps->length;
        for (unsigned likeness = SAME_SIZE;
             likeness <= SAME_TAG && (steps->is_of_step[i] || is_beyond); likeness++) {
            struct family *family = find_family(families, room,
                                                make_symbol(ops, op, (enum likeness)likeness));
            family->within += steps->is_of_step[i];
            family->beyond += is_beyond;
        }
    }
    judge_unended(steps, ops, lives, families, room);
    free(families);
}

void remedy_steps_init(struct remedy_steps *steps, const struct op_list *ops,
                       const struct remedy_lives *lives)
{
    struct markers markers = {0};
    *steps = (struct remedy_steps){0};
    steps->bounds = calloc(ops->count + 1, sizeof *steps->bounds);
    steps->is_of_step = calloc(ops->count + 1, sizeof *steps->is_of_step);
    markers.ops = calloc(ops->count + 1, sizeof *markers.ops);
    CHECK(steps->bounds != NULL);
    CHECK(steps->is_of_step != NULL);
    CHECK(markers.ops != NULL);
    find_markers(&markers, ops);
    set_bounds(steps, &markers, lives);
    if (steps->count > 0) {
        find_lives_of_steps(steps, ops, lives);
    }
    free(markers.ops);
}

void remedy_steps_deinit(struct remedy_steps *steps)
{
    free(steps->bounds);
    free(steps->is_of_step);
    *steps = (struct remedy_steps){0};
}
