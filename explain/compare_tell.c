/* Two runs, before and after a change: what grew, what is new, what is gone, and both over time. */
#include "explain/private/explanation.h"
#include "explain/private/files.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_TAG_COUNT_MAX = 40 };
static const char *const other_names[] = {"(queued frees)", "(retired memory)", "(stack)"};

/* --- what each holds --- */

/* A tag, by its name, in both; index 0 is A. */
struct pair {
    char name[SETUP_NAME_BYTES];
    struct compare_sum sums[2];
};
struct pairs {
    struct pair pairs[2 * (OP_TAG_COUNT + COMPARE_COUNT)]; /* count of them */
    size_t count;
};

static void add_sum(struct pairs *pairs, const char *name, int at, const struct compare_sum *sum)
{
    size_t i = 0;
    if (sum->blocks == 0) {
        return;
    }
    while (i < pairs->count && strcmp(pairs->pairs[i].name, name) != 0) {
        i++;
    }
    if (i == pairs->count) {
        pairs->pairs[pairs->count] = (struct pair){0};
        snprintf(pairs->pairs[pairs->count++].name, SETUP_NAME_BYTES, "%s", name);
    }
    pairs->pairs[i].sums[at].bytes += sum->bytes;
    pairs->pairs[i].sums[at].blocks += sum->blocks;
}

static void add_side(struct pairs *pairs, int at, const struct compare_side *side)
{
    char name[SETUP_NAME_BYTES];
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        (void)setup_tag_name(&side->recording.setup, (uint8_t)tag, name);
        add_sum(pairs, name, at, &side->answer.tags[tag]);
    }
    for (int i = 0; i < COMPARE_COUNT; i++) {
        add_sum(pairs, other_names[i], at, &side->answer.others[i]);
    }
}

static uint64_t find_change(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    const uint64_t left = find_change(x->sums[0].bytes, x->sums[1].bytes);
    const uint64_t right = find_change(y->sums[0].bytes, y->sums[1].bytes);
    return left != right ? (left < right ? 1 : -1) : strcmp(x->name, y->name);
}

static const char *name_change(const struct compare_sum sums[2])
{
    if (sums[0].blocks == 0) {
        return "new";
    }
    if (sums[1].blocks == 0) {
        return "gone";
    }
    return sums[1].bytes > sums[0].bytes   ? "grew"
           : sums[1].bytes < sums[0].bytes ? "shrank"
                                           : "same";
}

/* --- the same axis --- */

enum axis_kind { AXIS_SAID = 0, AXIS_PERIOD, AXIS_SHARE };

/* Of one step, or of several that share a row: the most in use in each; 0: the run has no such
 * step. */
struct axis_row {
    uint64_t from, to; /* numbers of steps or parts */
    uint64_t bytes[2];
};
struct axis {
    enum axis_kind kind;
    struct axis_row *rows; /* count of them */
    size_t count, capacity;
};

static void append_row(struct axis *axis, const struct axis_row *row)
{
    axis->rows = array_grown(axis->rows, axis->count, &axis->capacity, sizeof *axis->rows);
    axis->rows[axis->count++] = *row;
}

/* Both in the order of their numbers; a number that comes again begins another row. */
static void merge_steps(struct axis *axis, const struct compare_side sides[2])
{
    size_t at[2] = {0, 0};
    const bool by_number = axis->kind == AXIS_SAID;
    while (at[0] < sides[0].steps.count || at[1] < sides[1].steps.count) {
        uint64_t numbers[2];
        for (int i = 0; i < 2; i++) {
            const struct step_axis *steps = &sides[i].steps;
            numbers[i] = at[i] == steps->count ? UINT64_MAX
                         : by_number           ? steps->numbers[at[i]]
                                               : at[i] + 1;
        }
        const uint64_t number = numbers[0] < numbers[1] ? numbers[0] : numbers[1];
        struct axis_row row = {number, number, {0, 0}};
        for (int i = 0; i < 2; i++) {
            if (at[i] < sides[i].steps.count && numbers[i] == number) {
                row.bytes[i] = sides[i].parts[at[i]++];
            }
        }
        append_row(axis, &row);
    }
}

static void fill_row(struct axis *axis, size_t row, const struct axis_row *from)
{
    struct axis_row *into = &axis->rows[row];
    into->to = from->to;
    for (int i = 0; i < 2; i++) {
        into->bytes[i] = from->bytes[i] > into->bytes[i] ? from->bytes[i] : into->bytes[i];
    }
}

/* Neighbours share a row until there are few enough. */
static void thin_rows(struct axis *axis)
{
    if (axis->count <= COMPARE_PART_COUNT) {
        return;
    }
    for (size_t i = 0; i < axis->count; i++) {
        const size_t row = i * COMPARE_PART_COUNT / axis->count;
        const bool is_first = i == 0 || (i - 1) * COMPARE_PART_COUNT / axis->count != row;
        const struct axis_row moved = axis->rows[i];
        if (is_first) {
            axis->rows[row] = moved;
        } else {
            fill_row(axis, row, &moved);
        }
    }
    axis->count = COMPARE_PART_COUNT;
}

static void share_parts(struct axis *axis, const struct compare_side sides[2])
{
    for (size_t i = 0; i < COMPARE_PART_COUNT; i++) {
        struct axis_row row = {i + 1, i + 1, {0, 0}};
        for (int k = 0; k < 2; k++) {
            const size_t count = (size_t)sides[k].answer.part_count;
            const size_t from = i * count / COMPARE_PART_COUNT;
            const size_t to = (i + 1) * count / COMPARE_PART_COUNT;
            for (size_t part = from; part < count && (part < to || part == from); part++) {
                row.bytes[k] = sides[k].parts[part] > row.bytes[k] ? sides[k].parts[part]
                                                                   : row.bytes[k];
            }
        }
        append_row(axis, &row);
    }
}

static void axis_init(struct axis *axis, const struct compare_side sides[2])
{
    const bool has_steps = sides[0].steps.count > 0 && sides[1].steps.count > 0;
    const bool is_said = sides[0].steps.is_said && sides[1].steps.is_said;
    *axis = (struct axis){.kind = !has_steps ? AXIS_SHARE : is_said ? AXIS_SAID : AXIS_PERIOD};
    if (has_steps) {
        merge_steps(axis, sides);
        thin_rows(axis);
    } else {
        share_parts(axis, sides);
    }
}

/* --- what is told --- */

/* "+4.00M", "-4.00M", "0B". */
static void put_change(struct facts *facts, uint64_t a, uint64_t b)
{
    facts_cell_format(facts, "by", "%s%s",
                      a == b  ? ""
                      : b > a ? "+"
                              : "-",
                      size_text_of(find_change(a, b)).text);
}

static void tell_side(struct facts *facts, const struct compare_side *side, const char *letter)
{
    const struct compare_answer *answer = &side->answer;
    char host[32] = "", oom[48] = "";
    facts_open(facts, "compared_run");
    facts_text(facts, "run", letter);
    facts_text(facts, "file", side->path);
    facts_count(facts, "ops", answer->op_count);
    facts_count(facts, "host", answer->host);
    facts_size(facts, "peak_bytes", answer->peak_bytes);
    facts_count(facts, "peak_op", answer->peak_op);
    explain_add_step(facts, &side->steps, answer->peak_op);
    facts_size(facts, "capacity_bytes", answer->capacity_bytes);
    facts_count(facts, "out_of_memory", answer->oom_count);
    if (side->recording.setup.host_count > 1) {
        snprintf(host, sizeof host, ", on host %u", answer->host);
    }
    if (answer->oom_count > 0) {
        facts_count(facts, "first_out_of_memory_op", answer->first_oom_op);
        snprintf(oom, sizeof oom, "; out of memory at op %" PRIu64, answer->first_oom_op);
    }
    facts_answer(facts, "%s  %s: peak %s of %s at op %" PRIu32 "%s%s%s", letter, side->path,
                 size_text_of(answer->peak_bytes).text, size_text_of(answer->capacity_bytes).text,
                 answer->peak_op, explain_step(&side->steps, answer->peak_op, ", ").text, host,
                 oom);
    facts_close(facts);
}

static void say_peaks(struct facts *facts, const struct compare_side sides[2])
{
    const uint64_t a = sides[0].answer.peak_bytes, b = sides[1].answer.peak_bytes;
    const struct size_text change = size_text_of(find_change(a, b));
    const char *how = b > a ? "higher" : "lower";
    if (a == b) {
        facts_answer(facts, "Both peaks are equal.");
    } else if (a > 0) {
        facts_answer(facts, "B peaks %s %s than A (%" PRIu64 " %%).", change.text, how,
                     share_of(find_change(a, b), a, 100));
    } else {
        facts_answer(facts, "B peaks %s %s than A.", change.text, how);
    }
}

static void tell_pair(struct facts *facts, const struct pair *pair)
{
    const struct compare_sum *a = &pair->sums[0], *b = &pair->sums[1];
    facts_open(facts, "compared_tag");
    facts_text(facts, "tag", pair->name);
    facts_text(facts, "change", name_change(pair->sums));
    facts_size(facts, "a_bytes", a->bytes);
    facts_count(facts, "a_blocks", a->blocks);
    facts_size(facts, "b_bytes", b->bytes);
    facts_count(facts, "b_blocks", b->blocks);
    put_change(facts, a->bytes, b->bytes);
    facts_close(facts);
}

/* People read those that changed most. */
static void tell_pairs(struct facts *facts, const struct pairs *pairs)
{
    static const struct facts_column columns[] = {{"change", "At the peak of each"},
                                                  {"tag", "held by"},
                                                  {"a_bytes", "#A"},
                                                  {"a_blocks", "#blocks"},
                                                  {"b_bytes", "#B"},
                                                  {"b_blocks", "#blocks"},
                                                  {"by", "#B - A"}};
    facts_line(facts, "%s", "");
    facts_table(facts, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < pairs->count; i++) {
        if (i == SHOWN_TAG_COUNT_MAX) {
            facts_table_end(facts);
            facts_answer(facts, "(and %zu more, which changed less; --json has all)",
                         pairs->count - i);
        }
        tell_pair(facts, &pairs->pairs[i]);
    }
    if (pairs->count <= SHOWN_TAG_COUNT_MAX) {
        facts_table_end(facts);
    }
}

static void tell_axis(struct facts *facts, const struct axis *axis)
{
    static const struct {
        const char *name, *words;
        struct facts_column columns[4];
    } kinds[] = {{"step",
                  "steps matched by the numbers that the files give them",
                  {{"label", "step"}, {"a", "#A"}, {"b", "#B"}, {"by", "#B - A"}}},
                 {"about_step",
                  "steps matched in order, as the requests repeat",
                  {{"label", "about step"}, {"a", "#A"}, {"b", "#B"}, {"by", "#B - A"}}},
                 {"part",
                  "by parts of each list: no steps are seen in both",
                  {{"label", "part of 16"}, {"a", "#A"}, {"b", "#B"}, {"by", "#B - A"}}}};
    facts_heading(facts, "The most in use over time, %s", kinds[axis->kind].words);
    facts_table(facts, kinds[axis->kind].columns, 4);
    for (size_t i = 0; i < axis->count; i++) {
        const struct axis_row *row = &axis->rows[i];
        const uint64_t a = row->bytes[0], b = row->bytes[1];
        facts_open(facts, "compared_at");
        facts_text(facts, "axis", kinds[axis->kind].name);
        facts_count(facts, "from", row->from);
        facts_count(facts, "to", row->to);
        facts_size(facts, "a_bytes", a);
        facts_size(facts, "b_bytes", b);
        facts_cell_format(facts, "label",
                          row->from == row->to ? "%" PRIu64 : "%" PRIu64 "-%" PRIu64, row->from,
                          row->to);
        facts_cell(facts, "a", a == 0 ? "-" : size_text_of(a).text);
        facts_cell(facts, "b", b == 0 ? "-" : size_text_of(b).text);
        if (a > 0 && b > 0) {
            put_change(facts, a, b);
        }
        facts_close(facts);
    }
    facts_table_end(facts);
}

void compare_describe(struct facts *facts, const struct compare_side sides[2])
{
    struct axis axis;
    struct pairs *pairs = calloc(1, sizeof *pairs);
    CHECK(pairs != NULL);
    add_side(pairs, 0, &sides[0]);
    add_side(pairs, 1, &sides[1]);
    qsort(pairs->pairs, pairs->count, sizeof *pairs->pairs, compare_pairs);
    axis_init(&axis, sides);
    tell_side(facts, &sides[0], "A");
    tell_side(facts, &sides[1], "B");
    say_peaks(facts, sides);
    tell_pairs(facts, pairs);
    tell_axis(facts, &axis);
    free(axis.rows);
    free(pairs);
}
