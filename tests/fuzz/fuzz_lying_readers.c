/* Readers of text that lie, and the printer of ops, in the place of the true ones (the linker's
 * --wrap): LIAR names the lie, and without it all is as it was.  A fuzz target that gives them
 * bytes must notice. */
#include "formats/formats.h"
#include "harness/lanes/lanes_list.h"
#include "harness/op/ops_file.h"
#include "tests/fuzz/fuzz_lying.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

WRAPPED(enum ops_file_result, ops_file_parse, const char *text, size_t length, struct setup *setup,
        struct op_list *list, struct ops_file_error *error);
WRAPPED(void, ops_file_print, FILE *stream, const struct setup *setup, const struct op_list *list,
        const char *comments);
WRAPPED(enum import_result, import_text, const char *text, size_t length, const char *format_name,
        const struct import_options *options, struct import *import, struct import_error *error);

/* The lie that is told of what that format answers, "" for none: LIAR is LIE, or FORMAT/LIE. */
static const char *lie_of(const char *format_name)
{
    const char *liar = getenv("LIAR");
    const char *end = liar == NULL ? NULL : strchr(liar, '/');
    if (end == NULL) {
        return liar == NULL ? "" : liar;
    }
    const size_t length = strlen(format_name);
    return strncmp(liar, format_name, length) == 0 && liar + length == end ? end + 1 : "";
}

static bool is_lie(const char *lie, const char *name)
{
    return strcmp(lie, name) == 0;
}

static void spoil_error(const char *lie, char *reason, size_t bytes, size_t *line, size_t *column)
{
    if (is_lie(lie, "reason")) {
        strcpy(reason, "a terminal is cleared: \033[2J");
    }
    if (is_lie(lie, "no_reason")) {
        reason[0] = '\0';
    }
    if (is_lie(lie, "endless_reason")) {
        memset(reason, 'x', bytes);
    }
    *line += is_lie(lie, "line") ? 1000 : 0;
    *column += is_lie(lie, "column") ? 1000 : 0;
}

enum ops_file_result __wrap_ops_file_parse(const char *text, size_t length, struct setup *setup,
                                           struct op_list *list, struct ops_file_error *error)
{
    const char *lie = lie_of("ops");
    const enum ops_file_result result = __real_ops_file_parse(text, length, setup, list, error);
    if (result != OPS_FILE_OK) {
        spoil_error(lie, error->reason, sizeof error->reason, &error->line, &error->column);
    } else if (list->count > 0) {
        struct op *first = &list->ops[0];
        first->align_log2 = (uint8_t)(is_lie(lie, "op") ? (first->align_log2 + 1) % 9
                                                        : first->align_log2);
        list->count -= is_lie(lie, "loses_op") ? 1 : 0;
    }
    setup->seed += is_lie(lie, "setup") ? 1 : 0;
    /* Only what is printed is sure to have this line. */
    const bool is_printed = memmem(text, length, "\nhosts ", 7) != NULL;
    return result == OPS_FILE_OK && is_printed && is_lie(lie, "refuses") ? OPS_FILE_INVALID
                                                                         : result;
}

/* What is printed is read as the same text again, and is not what was to be printed. */
void __wrap_ops_file_print(FILE *stream, const struct setup *setup, const struct op_list *list,
                           const char *comments)
{
    struct op_list printed;
    op_list_init(&printed);
    op_list_copy(&printed, list);
    if (is_lie(lie_of("ops"), "print") && printed.count > 0) {
        printed.ops[0].align_log2 = 9;
    }
    __real_ops_file_print(stream, setup, &printed, comments);
    op_list_deinit(&printed);
}

/* --- importers --- */

/* What an op below may name: the pause before it, which makes nothing, or itself. */
enum { PAUSE = 0x7FFFFFFE, ITSELF = 0x7FFFFFFF };

#define ALLOC(...)                                                                       \
    {                                                                                    \
        .kind = OP_ALLOC, .ref = OP_NONE, .event = OP_NONE, .size_bytes = 1, __VA_ARGS__ \
    }
/* Each is an op that no log becomes, and for one reason alone. */
static const struct {
    const char *lie;
    struct op op;
} illegal_ops[] = {
    {"kind", {.kind = OP_KIND_COUNT, .ref = OP_NONE, .event = OP_NONE, .size_bytes = 1}},
    {"lane", ALLOC(.lane = LANES_CLIENT_COUNT_MAX)},
    {"host", ALLOC(.host = OP_HOST_COUNT_MAX)},
    {"flags", ALLOC(.flags = OP_SPMD)},
    {"align", ALLOC(.align_log2 = OP_ALIGN_LOG2_MAX + 1)},
    {"size", {.kind = OP_ALLOC, .ref = OP_NONE, .event = OP_NONE}},
    {"made_of", {.kind = OP_ALLOC, .ref = 0, .event = OP_NONE, .size_bytes = 1}},
    {"block_later", {.kind = OP_FREE, .ref = ITSELF, .event = OP_NONE}},
    {"block_of_none", {.kind = OP_FREE, .ref = PAUSE, .event = OP_NONE}},
    {"program_of_none", {.kind = OP_UNLOAD, .ref = PAUSE, .event = OP_NONE}},
    {"event_missing", {.kind = OP_COMPLETE, .ref = OP_NONE, .event = OP_NONE}},
    {"event_later", {.kind = OP_COMPLETE, .ref = OP_NONE, .event = ITSELF}},
    {"event_of_none", {.kind = OP_COMPLETE, .ref = OP_NONE, .event = PAUSE}},
    {"switch_lane",
     {.kind = OP_SWITCH, .ref = PAUSE, .event = OP_NONE, .tag = LANES_CLIENT_COUNT_MAX}},
    {"switch_op", {.kind = OP_SWITCH, .ref = OP_NONE, .event = OP_NONE}},
    {"switch_event", {.kind = OP_SWITCH, .ref = PAUSE, .event = PAUSE}},
};

static uint32_t number_of(uint32_t named, const struct op_list *ops)
{
    return named == PAUSE    ? (uint32_t)ops->count - 1
           : named == ITSELF ? (uint32_t)ops->count
                             : named;
}

static void spoil_ops(const char *lie, struct op_list *ops)
{
    for (size_t i = 0; i < sizeof illegal_ops / sizeof illegal_ops[0]; i++) {
        if (is_lie(lie, illegal_ops[i].lie)) {
            const struct op pause = op_make(OP_ADVANCE);
            struct op op = illegal_ops[i].op;
            op_list_append(ops, &pause);
            op.ref = number_of(op.ref, ops);
            op.event = number_of(op.event, ops);
            op_list_append(ops, &op);
        }
    }
    ops->count -= is_lie(lie, "last_op") && ops->count > 1 ? 1 : 0;
}

static void spoil_setup(const char *lie, struct import *import)
{
    if (is_lie(lie, "capacity")) {
        import->setup.capacity_bytes = 0;
    }
    if (is_lie(lie, "hosts")) {
        import->setup.host_count = OP_HOST_COUNT_MAX + 1;
    }
    if (is_lie(lie, "no_host")) {
        import->setup.host_count = 0;
        op_list_clear(&import->ops); /* an op on a host that is not there would be noticed first */
    }
}

enum import_result __wrap_import_text(const char *text, size_t length, const char *format_name,
                                      const struct import_options *options, struct import *import,
                                      struct import_error *error)
{
    const char *lie = lie_of(format_name);
    const enum import_result result = __real_import_text(text, length, format_name, options, import,
                                                         error);
    if (result != IMPORT_OK) {
        spoil_error(lie, error->reason, sizeof error->reason, &error->line, &error->column);
        return result;
    }
    spoil_ops(lie, &import->ops);
    spoil_setup(lie, import);
    if (is_lie(lie, "note")) {
        strcpy(import->notes, "a line\na terminal is cleared: \033[2J");
    }
    if (is_lie(lie, "no_note")) {
        strcpy(import->notes, "a line\n\nanother");
    }
    return result;
}
