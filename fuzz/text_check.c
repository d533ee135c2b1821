#include "fuzz/text_check.h"

#include "fuzz/finding.h"
#include "fuzz/player.h"
#include "fuzz/subject.h"
#include "harness/base/check.h"

#include "harness/lanes/lanes_list.h"
#include "harness/op/ops_file.h"

#include <inttypes.h>
#include <string.h>

/* Ops that are played: more would cost more than reading them. */
enum { PLAYED_OPS_MAX = 256, PRINTED_OPS_MAX = 4096 };

/* --- errors --- */

static void check_line(const char *fuzz_target, const char *reason, size_t bytes,
                       unsigned char last)
{
    const size_t length = strnlen(reason, bytes);
    if (length == 0 || length == bytes) {
        finding_end_check(fuzz_target, FINDING_REASON_UNPRINTABLE, "the reason has %zu characters",
                          length);
    }
    for (size_t i = 0; i < length; i++) {
        const unsigned char letter = (unsigned char)reason[i];
        if (letter < ' ' || letter == 0x7F || letter > last) {
            finding_end_check(fuzz_target, FINDING_REASON_UNPRINTABLE,
                              "the reason has character 0x%02x at %zu, after '%.*s'", letter, i,
                              (int)i, reason);
        }
    }
}

void text_check_ascii(const char *fuzz_target, const char *reason, size_t bytes)
{
    check_line(fuzz_target, reason, bytes, '~');
}

void text_check_reason(const char *fuzz_target, const char *reason, size_t bytes)
{
    check_line(fuzz_target, reason, bytes, UINT8_MAX);
}

void text_check_position(const char *fuzz_target, const char *text, size_t length, size_t line,
                         size_t column)
{
    size_t at = 0; /* where the line begins */
    size_t lines = 1;
    for (const char *end; lines < line && (end = memchr(text + at, '\n', length - at)) != NULL;
         lines++) {
        at = (size_t)(end - text) + 1;
    }
    const char *end = at < length ? memchr(text + at, '\n', length - at) : NULL;
    const size_t line_length = (end == NULL ? length : (size_t)(end - text)) - at;
    if (line > lines || (line == 0 && column > 0) || column > line_length + 1) {
        finding_end_check(fuzz_target, FINDING_POSITION_OUTSIDE,
                          "the error is at line %zu, column %zu, but line %zu has %zu bytes", line,
                          column, lines, line_length);
    }
}

/* --- ops --- */

void text_check_round_trip(const char *fuzz_target, const struct setup *setup,
                           const struct op_list *ops)
{
    static struct text_stream once, twice;
    static struct setup setup_again;
    static struct op_list ops_again;
    struct ops_file_error error;
    ops_file_print(text_stream_begin(&once), setup, ops, NULL);
    text_stream_end(&once);
    if (ops_file_parse(once.text, once.length, &setup_again, &ops_again, &error) != OPS_FILE_OK) {
        (void)fputs(once.text, stderr);
        finding_end_check(fuzz_target, FINDING_TEXT_CHANGED,
                          "the printed op list is refused at %zu:%zu: %s", error.line, error.column,
                          error.reason);
    }
    ops_file_print(text_stream_begin(&twice), &setup_again, &ops_again, NULL);
    text_stream_end(&twice);
    size_t same_count = 0;
    while (same_count < ops->count && same_count < ops_again.count &&
           op_equal(&ops->ops[same_count], &ops_again.ops[same_count])) {
        same_count++;
    }
    if (same_count != ops->count || same_count != ops_again.count || once.length != twice.length ||
        memcmp(once.text, twice.text, once.length) != 0) {
        (void)fprintf(stderr, "%s\nprinted again:\n%s", once.text, twice.text);
        finding_end_check(fuzz_target, FINDING_TEXT_CHANGED,
                          "%zu ops, of which the first %zu stayed equal, became %zu", ops->count,
                          same_count, ops_again.count);
    }
}

/* A switch names a lane and an op of the list. */
static bool is_legal_switch(const struct import *import, const struct op *op)
{
    return op->tag < LANES_CLIENT_COUNT_MAX && op->ref < import->ops.count && op->event == OP_NONE;
}

/* True if what the op frees, uses or completes was made before. */
static bool has_valid_references(const struct op_list *ops, size_t i)
{
    const struct op *op = &ops->ops[i];
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    if ((info->has_block || info->has_program || info->has_recording) && op->ref >= i) {
        return false;
    }
    if (info->has_event && (op->event == OP_NONE ? info->event_required : op->event >= i)) {
        return false;
    }
    const struct op_kind_info *named = op->ref < i
                                           ? op_kind_info((enum op_kind)ops->ops[op->ref].kind)
                                           : NULL;
    const struct op_kind_info *event = op->event < i
                                           ? op_kind_info((enum op_kind)ops->ops[op->event].kind)
                                           : NULL;
    return (!info->has_block || named->makes_block) &&
           (!info->has_program || named->makes_program) && (event == NULL || event->makes_event);
}

/* True if a log of the field can become this op: requests, executions, memory that is not there,
 * frees of what an earlier op made, completions and pauses, in the lanes of some hosts. */
static bool is_legal(const struct import *import, size_t i)
{
    const struct op *op = &import->ops.ops[i];
    if (op->kind >= OP_KIND_COUNT || op->lane >= LANES_CLIENT_COUNT_MAX ||
        op->host >= import->setup.host_count || op->flags != 0 ||
        op->align_log2 > OP_ALIGN_LOG2_MAX) {
        return false;
    }
    if (op->kind == OP_SWITCH) {
        return is_legal_switch(import, op);
    }
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    if (info->makes_block || info->makes_program || info->has_address) {
        return op->ref == OP_NONE && op->size_bytes > 0;
    }
    return has_valid_references(&import->ops, i);
}

static void check_ops(const char *fuzz_target, const struct import *import)
{
    for (size_t i = 0; i < import->ops.count; i++) {
        if (!is_legal(import, i)) {
            const struct op *op = &import->ops.ops[i];
            const struct op_list before = {.ops = import->ops.ops,
                                           .count = i}; /* the op itself may be unprintable */
            finding_print_ops(subject_name(), &import->setup, &before);
            finding_end_check(fuzz_target, FINDING_OP_ILLEGAL,
                              "op %zu of %zu: kind %u, flags %u, block or program %" PRIu32
                              ", event %" PRIu32 ", size %" PRIu64,
                              i, import->ops.count, op->kind, op->flags, op->ref, op->event,
                              op->size_bytes);
        }
    }
    if (import->setup.capacity_bytes == 0 || import->setup.host_count < 1 ||
        import->setup.host_count > OP_HOST_COUNT_MAX) {
        finding_end_check(fuzz_target, FINDING_OP_ILLEGAL, "the setup has no device or too many");
    }
}

static void note_last(void *context, const struct run *run, const struct verdict *verdict)
{
    (void)verdict;
    *(enum target_result *)context = (enum target_result)run_observation(run)->result;
}

/* False: the allocator does not take the setup. */
static bool play_bytes(const char *fuzz_target, const struct import *import,
                       enum target_result *last)
{
    static struct input input;
    static struct op_player *player;
    struct verdict verdict;
    if (player == NULL) {
        input_init(&input);
        player = player_create(subject());
    }
    input.setup = import->setup;
    op_list_copy(&input.ops, &import->ops);
    const struct run_listener listener = {.context = last, .judged = note_last};
    const struct run *run = player_play(player, &input, &listener, &verdict);
    if (run != NULL && run_is_broken(run)) {
        finding_end(&(struct play_finding){fuzz_target, subject(), subject_name(), run_setup(run),
                                           run_ops(run), &verdict});
    }
    return run != NULL;
}

static void check_error(const char *fuzz_target, const char *text, size_t length,
                        const struct import_error *error)
{
    text_check_reason(fuzz_target, error->reason, sizeof error->reason);
    text_check_position(fuzz_target, text, length, error->line, error->column);
}

/* Notes are lines of printable text. */
static void check_notes(const char *fuzz_target, const char *notes)
{
    char line[IMPORT_NOTES_BYTES];
    while (*notes != '\0') {
        const size_t length = strcspn(notes, "\n");
        memcpy(line, notes, length);
        line[length] = '\0';
        text_check_reason(fuzz_target, line, sizeof line);
        notes += length + (notes[length] == '\n');
    }
}

bool text_check_import(const char *fuzz_target, const struct format *format, const uint8_t *bytes,
                       size_t length, enum target_result *last)
{
    static struct import import;
    struct import_error error = {0};
    const char *text = (const char *)bytes;
    if (length > TEXT_CHECK_BYTES_MAX) {
        return false;
    }
    if (import.setup.host_count == 0) {
        import_init(&import);
    }
    (void)format_recognise(text, length);
    if (import_text(text, length, format->name, NULL, &import, &error) != IMPORT_OK) {
        check_error(fuzz_target, text, length, &error);
        return false;
    }
    check_ops(fuzz_target, &import);
    check_notes(fuzz_target, import.notes);
    if (import.ops.count <= PRINTED_OPS_MAX) {
        text_check_round_trip(fuzz_target, &import.setup, &import.ops);
    }
    return import.ops.count <= PLAYED_OPS_MAX && play_bytes(fuzz_target, &import, last);
}

FILE *text_stream_begin(struct text_stream *stream)
{
    if (stream->file == NULL) {
        stream->file = open_memstream(&stream->text, &stream->length);
        CHECK(stream->file != NULL);
    }
    rewind(stream->file);
    return stream->file;
}

void text_stream_end(struct text_stream *stream)
{
    /* The NUL cuts off what an earlier text left behind the end; length counts up to where printing
     * stopped. */
    CHECK(fputc('\0', stream->file) == '\0');
    CHECK(fflush(stream->file) == 0);
    const long end = ftell(stream->file);
    CHECK(end > 0);
    stream->length = (size_t)end - 1;
}
