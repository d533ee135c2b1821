/* Two runs, before and after a change: what grew, what is new, what is gone, and both over time. */
#include "explain/private/compare_parts.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/base/size.h"
#include "present/table.h"
#include "present/wrap.h"

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
static const char *const axis_names[] = {"step", "about step", "part of 16"};
static const char *const axis_texts[] = {"steps matched by the numbers that the files give them",
                                         "steps matched in order, as the requests repeat",
                                         "by parts of each list: no steps are seen in both"};

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

/* --- in words --- */

static const char *print_size(uint64_t bytes, char text[SIZE_TEXT_BYTES])
{
    size_print_field(bytes, text);
    return text;
}

/* "+4.00M", "-4.00M", "0B". */
static const char *print_change(uint64_t a, uint64_t b, char text[SIZE_TEXT_BYTES + 1])
{
    char size[SIZE_TEXT_BYTES];
    print_size(find_change(a, b), size);
    snprintf(text, SIZE_TEXT_BYTES + 1, "%s%s", a == b ? "" : b > a ? "+" : "-", size);
    return text;
}

static void say_side(const struct compare_side *side, char letter, struct writing *text)
{
    const struct compare_answer *answer = &side->answer;
    char peak[SIZE_TEXT_BYTES], whole[SIZE_TEXT_BYTES];
    writing_append_format(text, "%c  ", letter);
    writing_append_visible(text, side->path);
    writing_append_format(text, ": peak %s of %s at op %lu", print_size(answer->peak_bytes, peak),
                          print_size(answer->capacity_bytes, whole),
                          (unsigned long)answer->peak_op);
    step_axis_append(&side->steps, answer->peak_op, ", ", text);
    if (side->recording.setup.host_count > 1) {
        writing_append_format(text, ", on host %u", answer->host);
    }
    if (answer->oom_count > 0) {
        writing_append_format(text, "; out of memory at op %" PRIu64, answer->first_oom_op);
    }
    writing_append(text, "\n");
}

static void say_peaks(const struct compare_side sides[2], struct writing *text)
{
    const uint64_t a = sides[0].answer.peak_bytes, b = sides[1].answer.peak_bytes;
    char change[SIZE_TEXT_BYTES];
    if (a == b) {
        writing_append(text, "Both peaks are equal.\n");
        return;
    }
    writing_append_format(text, "B peaks %s %s than A", print_size(find_change(a, b), change),
                          b > a ? "higher" : "lower");
    if (a > 0) {
        writing_append_format(text, " (%" PRIu64 " %%)",
                              (uint64_t)((__uint128_t)find_change(a, b) * 100 / a));
    }
    writing_append(text, ".\n");
}

static void put_pair(struct table *table, const struct pair *pair)
{
    char size[SIZE_TEXT_BYTES], change[SIZE_TEXT_BYTES + 1];
    table_put(table, name_change(pair->sums));
    table_put(table, pair->name);
    for (int i = 0; i < 2; i++) {
        table_put(table, print_size(pair->sums[i].bytes, size));
        table_put_number(table, pair->sums[i].blocks);
    }
    table_put(table, print_change(pair->sums[0].bytes, pair->sums[1].bytes, change));
}

static void say_pairs(const struct pairs *pairs, struct writing *text)
{
    static const char *const heads[] = {
        "At the peak of each", "held by", "A", "blocks", "B", "blocks", "B - A"};
    struct table table;
    size_t left_out = 0;
    table_init(&table, sizeof heads / sizeof *heads, 2);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        table_put(&table, heads[i]);
    }
    for (size_t i = 0; i < pairs->count; i++) {
        if (i < SHOWN_TAG_COUNT_MAX) {
            put_pair(&table, &pairs->pairs[i]);
        } else {
            left_out++;
        }
    }
    writing_append(text, "\n");
    table_print(&table, 0, text);
    table_deinit(&table);
    if (left_out > 0) {
        writing_append_format(text, "(and %zu more, which changed less; --json has all)\n",
                              left_out);
    }
}

static void say_axis(const struct axis *axis, struct writing *text)
{
    struct table table;
    char size[SIZE_TEXT_BYTES], change[SIZE_TEXT_BYTES + 1], label[48];
    table_init(&table, 4, 1);
    table_put(&table, axis_names[axis->kind]);
    table_put(&table, "A");
    table_put(&table, "B");
    table_put(&table, "B - A");
    for (size_t i = 0; i < axis->count; i++) {
        const struct axis_row *row = &axis->rows[i];
        const bool has_both = row->bytes[0] > 0 && row->bytes[1] > 0;
        snprintf(label, sizeof label, row->from == row->to ? "%" PRIu64 : "%" PRIu64 "-%" PRIu64,
                 row->from, row->to);
        table_put(&table, label);
        for (int k = 0; k < 2; k++) {
            table_put(&table, row->bytes[k] == 0 ? "-" : print_size(row->bytes[k], size));
        }
        table_put(&table, has_both ? print_change(row->bytes[0], row->bytes[1], change) : "");
    }
    writing_append_format(text, "\nThe most in use over time, %s\n", axis_texts[axis->kind]);
    table_print(&table, 0, text);
    table_deinit(&table);
}

/* --- as JSON --- */

static void put_side(const struct compare_side *side, const char *letter, struct writing *text)
{
    const struct compare_answer *answer = &side->answer;
    json_open(text, "compared_run");
    json_add_string(text, "run", letter);
    json_add_string(text, "file", side->path);
    json_add_number(text, "ops", answer->op_count);
    json_add_number(text, "host", answer->host);
    json_add_number(text, "peak_bytes", answer->peak_bytes);
    json_add_number(text, "peak_op", answer->peak_op);
    step_axis_add(&side->steps, answer->peak_op, text);
    json_add_number(text, "capacity_bytes", answer->capacity_bytes);
    json_add_number(text, "out_of_memory", answer->oom_count);
    if (answer->oom_count > 0) {
        json_add_number(text, "first_out_of_memory_op", answer->first_oom_op);
    }
    json_close(text);
}

static void put_pairs(const struct pairs *pairs, struct writing *text)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->pairs[i];
        json_open(text, "compared_tag");
        json_add_string(text, "tag", pair->name);
        json_add_string(text, "change", name_change(pair->sums));
        json_add_number(text, "a_bytes", pair->sums[0].bytes);
        json_add_number(text, "a_blocks", pair->sums[0].blocks);
        json_add_number(text, "b_bytes", pair->sums[1].bytes);
        json_add_number(text, "b_blocks", pair->sums[1].blocks);
        json_close(text);
    }
}

static void put_axis(const struct axis *axis, struct writing *text)
{
    static const char *const kinds[] = {"step", "about_step", "part"};
    for (size_t i = 0; i < axis->count; i++) {
        const struct axis_row *row = &axis->rows[i];
        json_open(text, "compared_at");
        json_add_string(text, "axis", kinds[axis->kind]);
        json_add_number(text, "from", row->from);
        json_add_number(text, "to", row->to);
        json_add_number(text, "a_bytes", row->bytes[0]);
        json_add_number(text, "b_bytes", row->bytes[1]);
        json_close(text);
    }
}

/* --- the whole --- */

void compare_describe(const struct compare_side sides[2], bool is_json, struct writing *text)
{
    struct axis axis;
    const size_t begin = text->length;
    struct pairs *pairs = calloc(1, sizeof *pairs);
    CHECK(pairs != NULL);
    add_side(pairs, 0, &sides[0]);
    add_side(pairs, 1, &sides[1]);
    qsort(pairs->pairs, pairs->count, sizeof *pairs->pairs, compare_pairs);
    axis_init(&axis, sides);
    if (is_json) {
        put_side(&sides[0], "A", text);
        put_side(&sides[1], "B", text);
        put_pairs(pairs, text);
        put_axis(&axis, text);
    } else {
        say_side(&sides[0], 'A', text);
        say_side(&sides[1], 'B', text);
        say_peaks(sides, text);
        say_pairs(pairs, text);
        say_axis(&axis, text);
        wrap_answer(text, begin);
    }
    free(axis.rows);
    free(pairs);
}
