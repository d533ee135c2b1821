/* Merges what the ranks left into one list: the ops of each rank in their order, and the arrivals
 * at collectives in the order in which they came.  An op is placed where the next arrival of its
 * rank needs it; so all that a rank waited for comes before what it did next. */
#include "campaign/base/file.h"
#include "campaign/base/place.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/op/ops_file.h"
#include "pod/member.h"
#include "pod/pod.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)1 << 30)

/* The ops of one rank. */
struct rank_part {
    struct op_list ops;
    uint32_t *labels;  /* by op: its number in the file, which is that of the pod's list */
    uint32_t *numbers; /* by op: its number in the merged list */
    size_t next;       /* the first that is not merged yet */
};

struct pod_merging {
    const char *directory;
    struct setup setup;
    struct rank_part parts[OP_HOST_COUNT_MAX]; /* setup.host_count of them */
    bool has_setup;                            /* else: no file of a rank was found */
    struct op_list merged;
    uint64_t arrival_count, late_count, absent_count;
};

/* --- reading --- */

/* A process that was killed may leave half a line. */
static void cut_last_line(struct writing *text)
{
    while (text->length > 0 && text->bytes[text->length - 1] != '\n') {
        text->length--;
    }
}

/* The label of each line that is an op. */
static void read_labels(const struct writing *text, struct rank_part *part)
{
    size_t count = 0;
    const char *end = text->bytes + text->length;
    part->labels = calloc(part->ops.count + 1, sizeof *part->labels);
    part->numbers = calloc(part->ops.count + 1, sizeof *part->numbers);
    CHECK(part->labels != NULL && part->numbers != NULL);
    for (const char *line = text->bytes; line < end && count < part->ops.count;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const size_t digits = strspn(line, "0123456789");
        uint64_t label;
        if (digits > 0 && line[digits] == ':' && number_parse(line, digits, &label)) {
            part->labels[count++] = (uint32_t)label;
        }
        line = newline + 1;
    }
}

static enum exit_code read_part(struct pod_merging *merging, uint32_t rank)
{
    char path[FILE_PATH_BYTES];
    static struct setup setup;
    struct rank_part *part = &merging->parts[rank];
    struct ops_file_error error = {0};
    struct writing text = {0};
    if (!rank_path(merging->directory, rank, path) || !file_read(path, FILE_BYTES_MAX, &text)) {
        const int why = errno;
        writing_deinit(&text);
        if (why == ENOENT) {
            merging->absent_count++; /* it died before it began */
            return EXIT_KEPT;
        }
        return message_fail(EXIT_USAGE, "%s: %s", path, strerror(why));
    }
    cut_last_line(&text);
    if (text.length == 0) {
        writing_deinit(&text);
        merging->absent_count++; /* it was ended before it wrote a line */
        return EXIT_KEPT;
    }
    const enum ops_file_result result = ops_file_parse(text.bytes, text.length, &setup, &part->ops,
                                                       &error);
    if (result == OPS_FILE_OK) {
        read_labels(&text, part);
    }
    writing_deinit(&text);
    if (result != OPS_FILE_OK) {
        return message_fail(EXIT_USAGE, "%s:%zu:%zu: %s", path, error.line, error.column,
                            error.reason);
    }
    if (!merging->has_setup) {
        setup_copy(&merging->setup, &setup);
        merging->has_setup = true;
    }
    return setup.host_count == merging->setup.host_count && setup.has_clocks
               ? EXIT_KEPT
               : message_fail(EXIT_USAGE, "%s: it is not of the same pod as the others", path);
}

static enum exit_code read_parts(struct pod_merging *merging)
{
    enum exit_code code = EXIT_KEPT;
    uint32_t count = OP_HOST_COUNT_MAX;
    for (uint32_t i = 0; i < count && code == EXIT_KEPT; i++) {
        code = read_part(merging, i);
        count = merging->has_setup ? merging->setup.host_count : count;
    }
    return code == EXIT_KEPT && !merging->has_setup
               ? message_fail(EXIT_USAGE, "%s: there is no rank-R.ops of a pod", merging->directory)
               : code;
}

/* --- merging --- */

static uint32_t renumber(const struct rank_part *part, uint32_t reference)
{
    return reference < part->next ? part->numbers[reference] : reference;
}

static void merge_next(struct pod_merging *merging, struct rank_part *part)
{
    struct op op = part->ops.ops[part->next];
    if ((op.flags & OP_RELATIVE) == 0) {
        op.ref = op.ref == OP_NONE ? OP_NONE : renumber(part, op.ref);
        op.event = op.event == OP_NONE ? OP_NONE : renumber(part, op.event);
    }
    part->numbers[part->next++] = (uint32_t)merging->merged.count;
    op_list_append(&merging->merged, &op);
}

/* A retry stays behind what it asks again. */
static bool is_retry_next(const struct rank_part *part)
{
    return part->next < part->ops.count && (part->ops.ops[part->next].flags & OP_RETRY) != 0;
}

/* Merges the ops up to that op of the pod's list, and including it. */
static void merge_until(struct pod_merging *merging, struct rank_part *part, uint64_t label)
{
    while (part->next < part->ops.count && part->labels[part->next] <= label) {
        merge_next(merging, part);
    }
    while (is_retry_next(part)) {
        merge_next(merging, part);
    }
}

/* "join RANK OP" or "reached RANK OP". */
static bool take_line(struct pod_merging *merging, const char *line)
{
    uint32_t rank, op;
    int end = 0;
    const bool is_join = sscanf(line, "join %" SCNu32 " %" SCNu32 "%n", &rank, &op, &end) == 2;
    const bool is_reached = !is_join && sscanf(line, "reached %" SCNu32 " %" SCNu32 "%n", &rank,
                                               &op, &end) == 2;
    if ((!is_join && !is_reached) || line[end] != '\n' || rank >= merging->setup.host_count) {
        return false;
    }
    merge_until(merging, &merging->parts[rank], op);
    merging->arrival_count += is_join;
    merging->late_count += is_reached;
    return true;
}

static enum exit_code merge_arrivals(struct pod_merging *merging)
{
    char path[FILE_PATH_BYTES];
    struct writing text = {0};
    (void)snprintf(path, sizeof path, "%s/arrivals", merging->directory);
    enum exit_code code = EXIT_KEPT;
    if (!file_read(path, FILE_BYTES_MAX, &text)) {
        code = message_fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
    }
    cut_last_line(&text);
    size_t number = 1;
    const char *end = text.bytes + text.length;
    for (const char *line = text.bytes; code == EXIT_KEPT && line < end; number++) {
        if (!take_line(merging, line)) {
            code = message_fail(EXIT_USAGE, "%s:%zu: no pod wrote this line", path, number);
        }
        line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
    }
    writing_deinit(&text);
    return code;
}

static enum exit_code write_merged(struct pod_merging *merging, const char *output)
{
    char comments[512];
    for (uint32_t i = 0; i < merging->setup.host_count; i++) {
        merge_until(merging, &merging->parts[i], UINT32_MAX);
    }
    (void)snprintf(comments, sizeof comments,
                   "merged from the %" PRIu32 " ranks of a pod, with %" PRIu64
                   " arrivals at collectives in their order\n"
                   "not carried over: how long each pause was; %" PRIu64
                   " arrivals after a member had given up, whose event that member saw end by the "
                   "bound%s",
                   merging->setup.host_count, merging->arrival_count, merging->late_count,
                   merging->absent_count > 0 ? "; ranks that left no file" : "");
    return ops_output(output, &merging->setup, &merging->merged, comments);
}

enum exit_code pod_merge(const char *directory, const char *output)
{
    struct pod_merging *merging = calloc(1, sizeof *merging);
    CHECK(merging != NULL);
    merging->directory = directory;
    setup_init(&merging->setup);
    op_list_init(&merging->merged);
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        op_list_init(&merging->parts[i].ops);
    }
    enum exit_code code = read_parts(merging);
    code = code == EXIT_KEPT ? merge_arrivals(merging) : code;
    code = code == EXIT_KEPT ? write_merged(merging, output) : code;
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        op_list_deinit(&merging->parts[i].ops);
        free(merging->parts[i].labels);
        free(merging->parts[i].numbers);
    }
    op_list_deinit(&merging->merged);
    free(merging);
    return code;
}
