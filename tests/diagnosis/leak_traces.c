#include "tests/diagnosis/leak_traces.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <string.h>

enum { PHASE_COUNT_MAX = 5, LEAK_COUNT_MIN = 60 };

struct piece {
    uint32_t op;
    uint64_t size_bytes;
};
enum order { ORDER_OLDEST = 0, ORDER_NEWEST, ORDER_ANY, ORDER_COUNT };

struct part {
    struct piece *pieces; /* count of them, oldest first */
    size_t count, capacity;
    enum habit habit;
    enum order order;
    uint64_t least_bytes, most_bytes;
    uint32_t limit;                   /* pieces of a cache, pool, walk, ring or set */
    uint32_t period;                  /* steps between two acts */
    uint32_t length;                  /* of a period, or of a warm-up, in steps */
    uint32_t phases[PHASE_COUNT_MAX]; /* steps at which the set changes */
    uint32_t phase_count;
    bool only_up;
};

struct leak {
    int tag;
    uint32_t first_step, every; /* steps */
    uint32_t burst;             /* pieces at a time */
    bool is_random;             /* by chance, that often in the mean */
    uint64_t least_bytes, most_bytes;
    struct part kept;
};

struct maker {
    struct leak_trace *trace;
    struct random random;
    struct part parts[LEAK_TRACE_TAG_COUNT];
    struct leak leak;
    uint64_t tag_bytes[OP_TAG_COUNT];
    uint64_t in_use_bytes;
    uint32_t step_count, op;
};

/* --- ops --- */

static void keep_op(struct maker *maker, enum op_kind kind, uint8_t tag, uint64_t size_bytes,
                    uint32_t ref)
{
    struct op op = op_make(kind);
    op.tag = kind == OP_ALLOC ? tag : 0;
    op.size_bytes = size_bytes;
    op.ref = ref;
    op_list_append(&maker->trace->ops, &op);
}

static void append_note(struct maker *maker, struct history_note *note)
{
    note->op = maker->op;
    note->tag_bytes = maker->tag_bytes;
    note->in_use_bytes = maker->in_use_bytes;
    history_take(&maker->trace->history, note);
    maker->op++;
}

/* A block is whole granules, as in a run. */
static void make_piece(struct maker *maker, struct part *part, uint8_t tag, uint64_t wished_bytes)
{
    const uint64_t size_bytes = (wished_bytes + 511) / 512 * 512;
    part->pieces = array_grown(part->pieces, part->count, &part->capacity, sizeof *part->pieces);
    part->pieces[part->count++] = (struct piece){maker->op, size_bytes};
    maker->tag_bytes[tag] += size_bytes;
    maker->in_use_bytes += size_bytes;
    keep_op(maker, OP_ALLOC, tag, size_bytes, OP_NONE);
    append_note(maker, &(struct history_note){
                           .makes = true, .made_tag = tag, .requested_bytes = size_bytes});
}

static void make_drawn(struct maker *maker, struct part *part, uint8_t tag)
{
    make_piece(maker, part, tag,
               random_between(&maker->random, part->least_bytes, part->most_bytes));
}

static void drop_piece(struct maker *maker, struct part *part, uint8_t tag, size_t index)
{
    const struct piece piece = part->pieces[index];
    memmove(&part->pieces[index], &part->pieces[index + 1],
            (part->count - index - 1) * sizeof piece);
    part->count--;
    maker->tag_bytes[tag] -= piece.size_bytes;
    maker->in_use_bytes -= piece.size_bytes;
    keep_op(maker, OP_FREE, tag, 0, piece.op);
    append_note(maker, &(struct history_note){
                           .frees = true, .freed_tag = tag, .freed_age = maker->op - piece.op});
}

static void drop_one(struct maker *maker, struct part *part, uint8_t tag)
{
    const size_t chosen[ORDER_COUNT] = {0, part->count - 1,
                                        (size_t)random_below(&maker->random, part->count)};
    drop_piece(maker, part, tag, chosen[part->order]);
}

static void drop_all(struct maker *maker, struct part *part, uint8_t tag)
{
    while (part->count > 0) {
        drop_piece(maker, part, tag, part->count - 1);
    }
}

/* --- habits --- */

static void change_phase(struct maker *maker, struct part *part, uint8_t tag)
{
    if (!part->only_up) {
        drop_all(maker, part, tag);
    }
    const uint64_t count = random_between(&maker->random, 1, part->limit);
    for (uint64_t i = 0; i < count; i++) {
        make_drawn(maker, part, tag);
    }
}

static void act_in_phases(struct maker *maker, struct part *part, uint8_t tag, uint32_t step)
{
    for (uint32_t i = 0; i < part->phase_count; i++) {
        if (part->phases[i] == step) {
            change_phase(maker, part, tag);
        }
    }
}

static void replace_piece(struct maker *maker, struct part *part, uint8_t tag)
{
    if (part->count >= part->limit) {
        drop_one(maker, part, tag);
    }
    make_drawn(maker, part, tag);
}

/* Filled at a rate that takes `length` steps, then in each act one entry is replaced. */
static void act_as_cache(struct maker *maker, struct part *part, uint8_t tag, uint32_t step)
{
    const uint64_t due = step < part->length ? (uint64_t)part->limit * (step + 1) / part->length
                                             : part->limit;
    if (part->count < due) {
        make_drawn(maker, part, tag);
    } else if (part->count >= part->limit && step % part->period == 0) {
        replace_piece(maker, part, tag);
    }
}

static void act_as_walk(struct maker *maker, struct part *part, uint8_t tag)
{
    const bool goes_up = part->count == 0 ||
                         (part->count < part->limit && random_chance(&maker->random, 1, 2));
    if (goes_up) {
        make_drawn(maker, part, tag);
    } else {
        drop_one(maker, part, tag);
    }
}

static void act_by_chance(struct maker *maker, struct part *part, uint8_t tag, uint32_t step)
{
    /* The chance falls as 1 / (1 + (step / length)^3). */
    const uint64_t far = (uint64_t)step * 8 / part->length;
    if (random_chance(&maker->random, 512, (uint32_t)(512 + far * far * far))) {
        make_drawn(maker, part, tag);
    }
}

static void act_by_habit(struct maker *maker, struct part *part, uint8_t tag, uint32_t step)
{
    const bool is_due = step % part->period == 0;
    switch (part->habit) {
    case HABIT_BATCH:
        if (is_due) {
            make_drawn(maker, part, tag);
            drop_all(maker, part, tag);
        }
        break;
    case HABIT_CACHE:
        act_as_cache(maker, part, tag, step);
        break;
    case HABIT_PHASES:
        act_in_phases(maker, part, tag, step);
        break;
    case HABIT_LATE_STEP:
        act_in_phases(maker, part, tag, step);
        break;
    case HABIT_PERIODIC:
        if (step % part->length == part->length - 1) {
            drop_all(maker, part, tag);
        } else if (is_due) {
            make_drawn(maker, part, tag);
        }
        break;
    case HABIT_WALK:
        if (is_due) {
            act_as_walk(maker, part, tag);
        }
        break;
    case HABIT_RING:
    case HABIT_POOL:
        if (is_due && step > 0) {
            replace_piece(maker, part, tag);
        }
        break;
    case HABIT_SATURATING:
        if (is_due) {
            act_by_chance(maker, part, tag, step);
        }
        break;
    default:
        break;
    }
}

/* --- drawing --- */

static uint32_t draw_between(struct maker *maker, uint32_t low, uint32_t high)
{
    return (uint32_t)random_log_uniform(&maker->random, low, high);
}

static void draw_sizes(struct maker *maker, struct part *part)
{
    part->least_bytes = random_log_uniform(&maker->random, 512, 8 << 20);
    part->most_bytes = part->least_bytes * random_between(&maker->random, 1, 8);
}

static void draw_phases(struct maker *maker, struct part *part)
{
    const uint32_t steps = maker->step_count;
    const bool is_late = part->habit == HABIT_LATE_STEP;
    part->phase_count = is_late ? 1 : (uint32_t)random_between(&maker->random, 1, PHASE_COUNT_MAX);
    part->only_up = random_chance(&maker->random, 1, 2);
    for (uint32_t i = 0; i < part->phase_count; i++) {
        part->phases[i] = (uint32_t)random_between(&maker->random, is_late ? steps / 2 : 1,
                                                   steps - 1);
    }
}

static void draw_part(struct maker *maker, struct part *part, uint8_t tag)
{
    const uint32_t steps = maker->step_count;
    part->habit = (enum habit)random_below(&maker->random, HABIT_COUNT);
    part->order = (enum order)random_below(&maker->random, ORDER_COUNT);
    part->limit = draw_between(maker, 3, 200);
    part->period = draw_between(maker, 4, 200);
    draw_sizes(maker, part);
    switch (part->habit) {
    case HABIT_BATCH:
        part->period = tag < 4 ? 1 : part->period;
        break;
    case HABIT_CACHE:
        part->length = draw_between(maker, part->limit, steps / 2);
        break;
    case HABIT_PERIODIC:
        part->length = draw_between(maker, 10, steps * 2 / 5);
        break;
    case HABIT_RING:
        part->limit = (uint32_t)random_between(&maker->random, 2, 5);
        part->period = draw_between(maker, steps / 100, steps / 10);
        break;
    case HABIT_POOL:
        part->period = draw_between(maker, 20, steps / 20);
        break;
    case HABIT_SATURATING:
        part->length = draw_between(maker, steps / 50, steps / 5);
        break;
    case HABIT_PHASES:
    case HABIT_LATE_STEP:
        draw_phases(maker, part);
        break;
    default:
        break;
    }
}

static void draw_leak(struct maker *maker, bool has_leak)
{
    struct leak *leak = &maker->leak;
    const uint32_t steps = maker->step_count;
    leak->tag = has_leak ? (int)random_below(&maker->random, LEAK_TRACE_TAG_COUNT)
                         : LEAK_TRACE_LEAK_NONE;
    leak->first_step = random_chance(&maker->random, 1, 3)
                           ? (uint32_t)random_below(&maker->random, steps / 2)
                           : 0;
    leak->every = draw_between(maker, 1, steps / (2 * LEAK_COUNT_MIN));
    leak->burst = random_chance(&maker->random, 1, 4)
                      ? (uint32_t)random_between(&maker->random, 2, 5)
                      : 1;
    leak->is_random = random_chance(&maker->random, 1, 2);
    leak->least_bytes = random_log_uniform(&maker->random, 1, 1 << 20); /* scalars, too */
    leak->most_bytes = leak->least_bytes * random_between(&maker->random, 1, 4);
}

static void run_leak(struct maker *maker, uint32_t step)
{
    struct leak *leak = &maker->leak;
    if (leak->tag == LEAK_TRACE_LEAK_NONE || step < leak->first_step) {
        return;
    }
    if (leak->is_random ? !random_chance(&maker->random, 1, leak->every)
                        : step % leak->every != 0) {
        return;
    }
    for (uint32_t i = 0; i < leak->burst; i++) {
        const uint64_t size_bytes = random_between(&maker->random, leak->least_bytes,
                                                   leak->most_bytes);
        make_piece(maker, &leak->kept, (uint8_t)leak->tag, size_bytes);
        maker->trace->leaked_bytes += leak->kept.pieces[leak->kept.count - 1].size_bytes;
        maker->trace->leaked_count++;
    }
}

static void start_parts(struct maker *maker)
{
    for (uint8_t tag = 0; tag < LEAK_TRACE_TAG_COUNT; tag++) {
        struct part *part = &maker->parts[tag];
        draw_part(maker, part, tag);
        const bool has_start = part->habit == HABIT_PERMANENT || part->habit == HABIT_POOL ||
                               part->habit == HABIT_PHASES;
        for (uint32_t i = 0; has_start && i < part->limit; i++) {
            make_drawn(maker, part, tag);
        }
        if (part->habit == HABIT_WALK) {
            for (uint64_t i = random_below(&maker->random, part->limit); i > 0; i--) {
                make_drawn(maker, part, tag);
            }
        }
    }
}

/* --- the whole --- */

static void show_part(struct evidence *evidence, size_t *capacity, const struct part *part,
                      uint8_t tag)
{
    for (size_t i = 0; i < part->count; i++) {
        evidence->blocks = array_grown(evidence->blocks, evidence->block_count, capacity,
                                       sizeof *evidence->blocks);
        evidence->blocks[evidence->block_count++] = (struct evidence_block){
            .op = part->pieces[i].op,
            .size_bytes = part->pieces[i].size_bytes,
            .tag = tag,
            .is_movable = true};
    }
}

static void show_evidence(struct maker *maker)
{
    struct leak_trace *trace = maker->trace;
    size_t capacity = 0;
    trace->evidence = (struct evidence){.history = &trace->history,
                                        .setup = &trace->setup,
                                        .verdict = &trace->verdict,
                                        .ops = &trace->ops,
                                        .host_count = 1};
    for (uint8_t tag = 0; tag < LEAK_TRACE_TAG_COUNT; tag++) {
        show_part(&trace->evidence, &capacity, &maker->parts[tag], tag);
        free(maker->parts[tag].pieces);
    }
    if (maker->leak.tag != LEAK_TRACE_LEAK_NONE) {
        show_part(&trace->evidence, &capacity, &maker->leak.kept, (uint8_t)maker->leak.tag);
        trace->habit = maker->parts[maker->leak.tag].habit;
    }
    free(maker->leak.kept.pieces);
}

void leak_trace_make(struct leak_trace *trace, uint64_t seed, uint32_t step_count, bool has_leak)
{
    static struct maker maker;
    memset(&maker, 0, sizeof maker);
    memset(trace, 0, sizeof *trace);
    maker.trace = trace;
    maker.step_count = step_count;
    random_init(&maker.random, seed);
    history_init(&trace->history);
    op_list_init(&trace->ops);
    setup_init(&trace->setup);
    start_parts(&maker);
    draw_leak(&maker, has_leak);
    for (uint32_t step = 0; step < step_count; step++) {
        for (uint8_t tag = 0; tag < LEAK_TRACE_TAG_COUNT; tag++) {
            act_by_habit(&maker, &maker.parts[tag], tag, step);
        }
        run_leak(&maker, step);
    }
    trace->leaking_tag = maker.leak.tag;
    show_evidence(&maker);
}

void leak_trace_deinit(struct leak_trace *trace)
{
    history_deinit(&trace->history);
    evidence_deinit(&trace->evidence);
    op_list_deinit(&trace->ops);
}
