/* A stored run of scale: read back line by line, and compared row by row. */
#include "campaign/base/file.h"
#include "campaign/engine/whole.h"
#include "harness/base/array.h"
#include "harness/base/size.h"
#include "ladder/scale/scale.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STORED_BYTES_MAX = 16 << 20 };

void stored_deinit(struct stored *stored)
{
    free(stored->rows);
    free(stored->edges);
    *stored = (struct stored){0};
}

/* --- reading --- */

/* One reading of a file. */
struct stored_reading {
    const char *path;
    const struct scale *scale;
    struct stored *stored;
    size_t line;
    bool has_start, has_end;
};

static enum exit_code fail_line(const struct stored_reading *reading, const char *reason)
{
    return message_fail(EXIT_USAGE, "%s:%zu: %s", reading->path, reading->line, reason);
}

/* False: there is none, or it is longer. */
static bool find_text(const struct result_line *line, const char *key, char *text, size_t size)
{
    const char *found = result_line_find_text(line, key);
    return found != NULL && snprintf(text, size, "%s", found) < (int)size;
}

static bool find_end(const struct result_line *line, enum scale_end *end)
{
    *end = SCALE_FITS;
    while (*end < SCALE_END_COUNT && !result_line_has(line, "result", scale_end_name(*end))) {
        (*end)++;
    }
    return *end < SCALE_END_COUNT;
}

/* What must be the same for rows to be comparable; the target is what is compared. */
static enum exit_code read_start(struct stored_reading *reading, const struct result_line *line)
{
    const struct scale *scale = reading->scale;
    char seed[SIZE_TEXT_BYTES];
    uint64_t until, ops_max;
    (void)snprintf(seed, sizeof seed, "%" PRIu64, scale->base.seed);
    if (!result_line_has(line, "subcommand", "scale") ||
        !result_line_find_number(line, "until", &until) ||
        !result_line_find_number(line, "ops_max", &ops_max)) {
        return fail_line(reading, "this is no file of scale --out");
    }
    if (scale->scenario != NULL && !result_line_has(line, "job", scale->scenario->name)) {
        return fail_line(reading, "it is of another scenario");
    }
    if (!result_line_has(line, "seed", seed)) {
        return fail_line(reading, "it is of another seed; give the same --seed");
    }
    if (until != scale->base.until_step || ops_max != scale->options->run->op_count_max) {
        return fail_line(reading,
                         "its jobs are of another length; give the same --until and --ops");
    }
    reading->has_start = true;
    return EXIT_KEPT;
}

static const struct stored_row *find_stored(const struct stored *stored, const char *name)
{
    for (size_t i = 0; i < stored->row_count; i++) {
        if (strcmp(stored->rows[i].name, name) == 0) {
            return &stored->rows[i];
        }
    }
    return NULL;
}

static enum exit_code read_row(struct stored_reading *reading, const struct result_line *line)
{
    struct stored *stored = reading->stored;
    struct stored_row row = {.result.step = SCALE_NO_STEP};
    struct scale_result *result = &row.result;
    uint64_t op = OP_NONE;
    if (!find_text(line, "row", row.name, sizeof row.name) || !find_end(line, &result->end) ||
        !find_text(line, "limit", result->limit, sizeof result->limit) ||
        !result_line_find_number(line, "peak_bytes", &result->peak_bytes) ||
        !result_line_find_number(line, "largest_program_bytes", &result->image_bytes) ||
        !result_line_find_number(line, "largest_stack_bytes", &result->stack_bytes)) {
        return fail_line(reading, "this is no whole scale_row");
    }
    (void)result_line_find_number(line, "step", &result->step);
    (void)result_line_find_number(line, "op", &op);
    result->op = op < OP_NONE ? (uint32_t)op : OP_NONE;
    if (stored->row_count == SCALE_ROW_COUNT_MAX) {
        return fail_line(reading, "it has more rows than scale makes");
    }
    if (find_stored(stored, row.name) != NULL) {
        return fail_line(reading, "this row is there twice");
    }
    stored->rows = array_grown(stored->rows, stored->row_count, &stored->row_capacity,
                               sizeof *stored->rows);
    stored->rows[stored->row_count++] = row;
    return EXIT_KEPT;
}

static enum exit_code read_edge(struct stored_reading *reading, const struct result_line *line)
{
    struct stored *stored = reading->stored;
    struct stored_edge edge = {.is_smallest = result_line_has(line, "kind", "smallest")};
    if (!find_text(line, "row", edge.name, sizeof edge.name) ||
        !find_text(line, "axis", edge.axis, sizeof edge.axis) ||
        !result_line_find_number(line, "fits", &edge.edge.holds) ||
        !result_line_find_number(line, "fails", &edge.edge.fails)) {
        return fail_line(reading, "this is no whole scale_edge");
    }
    if (stored->edge_count == (size_t)SCALE_ROW_COUNT_MAX * SCALE_AXIS_COUNT_MAX) {
        return fail_line(reading, "it has more edges than scale finds");
    }
    stored->edges = array_grown(stored->edges, stored->edge_count, &stored->edge_capacity,
                                sizeof *stored->edges);
    stored->edges[stored->edge_count++] = edge;
    return EXIT_KEPT;
}

static enum exit_code read_line(struct stored_reading *reading, const struct result_line *line)
{
    if (!reading->has_start) {
        return result_line_has(line, "type", "start")
                   ? read_start(reading, line)
                   : fail_line(reading, "this is no file of scale --out");
    }
    if (result_line_has(line, "type", "scale_row")) {
        return read_row(reading, line);
    }
    if (result_line_has(line, "type", "scale_edge")) {
        return read_edge(reading, line);
    }
    reading->has_end = reading->has_end || result_line_has(line, "type", "end");
    return EXIT_KEPT; /* what changed then is no matter of now */
}

static enum exit_code read_text(struct stored_reading *reading, const char *text, size_t length)
{
    struct result_line line = {.text = text, .length = length};
    if (!result_line_read(&line)) {
        return fail_line(reading, "this is no JSON line of scale");
    }
    const enum exit_code code = read_line(reading, &line);
    result_line_forget(&line);
    return code;
}

static enum exit_code read_lines(struct stored_reading *reading, const struct writing *bytes)
{
    enum exit_code code = EXIT_KEPT;
    for (size_t at = 0; at < bytes->length && code == EXIT_KEPT;) {
        const char *text = bytes->bytes + at;
        const char *end = memchr(text, '\n', bytes->length - at);
        const size_t length = end == NULL ? bytes->length - at : (size_t)(end - text);
        reading->line++;
        code = read_text(reading, text, length);
        at += length + 1;
    }
    if (code == EXIT_KEPT && !reading->has_end) {
        return message_fail(EXIT_USAGE, "%s: %s", reading->path,
                            reading->line == 0 ? "this is no file of scale --out: it is empty"
                                               : "it is cut off: its last line is missing");
    }
    return code;
}

static const struct scale_row *find_row(const struct scale *scale, const char *wanted)
{
    char name[SCALE_NAME_BYTES];
    for (size_t i = 0; i < scale->row_count; i++) {
        scale_name(scale, &scale->rows[i].point, scale->axis_count, name);
        if (strcmp(name, wanted) == 0) {
            return &scale->rows[i];
        }
    }
    return NULL;
}

/* Without one there is nothing to compare. */
static enum exit_code check_common(const struct stored_reading *reading)
{
    const struct stored *stored = reading->stored;
    for (size_t i = 0; i < stored->row_count; i++) {
        if (find_row(reading->scale, stored->rows[i].name) != NULL) {
            return EXIT_KEPT;
        }
    }
    return message_fail(EXIT_USAGE, "%s: none of its %zu rows is one of this ladder", reading->path,
                        stored->row_count);
}

enum exit_code stored_read(const char *path, const struct scale *scale, struct stored *stored)
{
    struct stored_reading reading = {.path = path, .scale = scale, .stored = stored};
    struct writing bytes = {0};
    *stored = (struct stored){0};
    enum exit_code code = EXIT_KEPT;
    if (!file_read(path, STORED_BYTES_MAX, &bytes)) {
        code = message_fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
    } else if (bytes.length > 0 && memchr(bytes.bytes, '\0', bytes.length) != NULL) {
        code = message_fail(EXIT_USAGE, "%s: this is no file of scale --out: it has a NUL byte",
                            path);
    } else {
        code = read_lines(&reading, &bytes);
        code = code == EXIT_KEPT ? check_common(&reading) : code;
    }
    writing_deinit(&bytes);
    return code;
}

/* --- what changed --- */

/* One change: what, of which row, from what to what. */
static void tell(struct scale *scale, const char *row, const char *what, bool is_alarm,
                 const char *words)
{
    struct facts *facts = &scale->changes;
    scale->change_count++;
    scale->alarm_count += is_alarm;
    facts_open(facts, "scale_change");
    facts_text(facts, "row", row);
    facts_text(facts, "what", what);
    facts_boolean(facts, "alarm", is_alarm);
    facts_text(facts, "words", words);
    facts_close(facts);
    facts_line(facts, "%s  %s%s%s", is_alarm ? "ALARM" : "     ", row, row[0] == '\0' ? "" : ": ",
               words);
}

/* Beyond the threshold; 0 was not measured. */
static bool has_grown(const struct scale *scale, uint64_t before, uint64_t after)
{
    return after > before &&
           (double)(after - before) > (double)before * (double)scale->options->grew_max / 100.0;
}

static void compare_bytes(struct scale *scale, const char *row, const char *what, uint64_t before,
                          uint64_t after)
{
    char words[2 * SETUP_NAME_BYTES + 128];
    if (before == after) {
        return;
    }
    (void)snprintf(words, sizeof words, "%s %s by %s, from %s to %s", what,
                   after > before ? "grew" : "shrank",
                   size_text_of(after > before ? after - before : before - after).text,
                   size_text_of(before).text, size_text_of(after).text);
    tell(scale, row, what, has_grown(scale, before, after), words);
}

static void print_end(const struct scale_result *result, char words[SETUP_NAME_BYTES])
{
    if (result->end == SCALE_NO_MEMORY && result->step != SCALE_NO_STEP) {
        (void)snprintf(words, SETUP_NAME_BYTES, "out of memory in step %" PRIu64, result->step);
    } else if (result->end == SCALE_NO_MEMORY) {
        (void)snprintf(words, SETUP_NAME_BYTES, "out of memory at op %" PRIu32, result->op);
    } else {
        (void)snprintf(words, SETUP_NAME_BYTES, "%s", scale_end_name(result->end));
    }
}

/* Worse: it fitted and does not, it runs out earlier, or it ended better than with a death. */
static bool is_worse(const struct scale_result *before, const struct scale_result *after)
{
    if (before->end == SCALE_NO_MEMORY && after->end == SCALE_NO_MEMORY) {
        return before->step != SCALE_NO_STEP ? after->step < before->step : after->op < before->op;
    }
    return after->end > before->end;
}

static void compare_row(struct scale *scale, const char *row, const struct scale_result *before,
                        const struct scale_result *after)
{
    char words[2 * SCALE_LIMIT_BYTES + 64], old_end[SETUP_NAME_BYTES], new_end[SETUP_NAME_BYTES];
    print_end(before, old_end);
    print_end(after, new_end);
    if (strcmp(old_end, new_end) != 0) {
        (void)snprintf(words, sizeof words, "%s, before: %s", new_end, old_end);
        tell(scale, row, "result", is_worse(before, after), words);
    }
    if (!scale_has_run(before) || !scale_has_run(after)) {
        return;
    }
    compare_bytes(scale, row, "peak", before->peak_bytes, after->peak_bytes);
    compare_bytes(scale, row, "largest program", before->image_bytes, after->image_bytes);
    compare_bytes(scale, row, "largest stack", before->stack_bytes, after->stack_bytes);
    if (strcmp(before->limit, after->limit) != 0) {
        (void)snprintf(words, sizeof words, "limited by %s, before by %s", after->limit,
                       before->limit);
        tell(scale, row, "limit", false, words);
    }
}

/* --- edges --- */

/* Smaller where the largest is looked for, larger where the smallest is; 0 is none at all. */
static bool is_edge_worse(const struct stored_edge *before, const struct scale_edge *after)
{
    const uint64_t old_one = before->edge.holds, new_one = after->edge.holds;
    return before->is_smallest ? old_one != 0 && (new_one == 0 || new_one > old_one)
                               : new_one < old_one;
}

static void compare_edge(struct scale *scale, const struct stored_edge *before,
                         const struct scale_edge *after)
{
    char words[256], old_value[SCALE_VALUE_BYTES], new_value[SCALE_VALUE_BYTES];
    if (before->edge.holds == after->edge.holds || before->is_smallest != after->is_smallest) {
        return;
    }
    scale_print_value(scale, after->axis, before->edge.holds, old_value);
    scale_print_value(scale, after->axis, after->edge.holds, new_value);
    (void)snprintf(words, sizeof words, "the %s %s that fits is %s, before %s",
                   before->is_smallest ? "smallest" : "largest", before->axis,
                   after->edge.holds == 0 ? "none" : new_value,
                   before->edge.holds == 0 ? "none" : old_value);
    tell(scale, before->name, "edge", is_edge_worse(before, after), words);
}

static void compare_edges(struct scale *scale, const struct stored *stored)
{
    char name[SCALE_NAME_BYTES];
    for (size_t i = 0; i < scale->edge_count; i++) {
        const struct scale_edge *edge = &scale->edges[i];
        scale_name(scale, &edge->point, edge->axis, name);
        for (size_t j = 0; j < stored->edge_count; j++) {
            if (strcmp(stored->edges[j].name, name) == 0 &&
                strcmp(stored->edges[j].axis, scale->axes[edge->axis].name) == 0) {
                compare_edge(scale, &stored->edges[j], edge);
            }
        }
    }
}

/* --- all --- */

void stored_compare(const struct stored *stored, struct scale *scale)
{
    char name[SCALE_NAME_BYTES];
    for (size_t i = 0; i < scale->row_count; i++) {
        scale_name(scale, &scale->rows[i].point, scale->axis_count, name);
        const struct stored_row *before = find_stored(stored, name);
        if (before != NULL) {
            compare_row(scale, name, &before->result, &scale->rows[i].result);
        } else {
            tell(scale, name, "new", false, "new row");
        }
    }
    for (size_t i = 0; i < stored->row_count; i++) {
        if (find_row(scale, stored->rows[i].name) == NULL) {
            tell(scale, stored->rows[i].name, "gone", false, "not run now");
        }
    }
    compare_edges(scale, stored);
}
