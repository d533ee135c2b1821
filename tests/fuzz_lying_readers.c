/* Readers of text that lie, in the place of the true ones (the linker's --wrap): LIAR names the lie, and without it all
 * is as it was.  A fuzz target that gives them bytes must notice. */
#include "formats/formats.h"
#include "harness/ops_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ops_file_result __real_ops_file_parse(const char *text, size_t length, struct setup *setup, struct op_list *list,
                                           struct ops_file_error *error);
enum ops_file_result __wrap_ops_file_parse(const char *text, size_t length, struct setup *setup, struct op_list *list,
                                           struct ops_file_error *error);
enum import_result __real_import_text(const char *text, size_t length, const char *format_name,
                                      const struct import_options *options, struct import *import,
                                      struct import_error *error);
enum import_result __wrap_import_text(const char *text, size_t length, const char *format_name,
                                      const struct import_options *options, struct import *import,
                                      struct import_error *error);

static bool lies(const char *lie)
{
    const char *liar = getenv("LIAR");
    return liar != NULL && strcmp(liar, lie) == 0;
}

static void spoil_reason(char *reason, size_t bytes)
{
    if (lies("reason")) {
        (void)snprintf(reason, bytes, "%s", "a terminal is cleared: \033[2J");
    }
    if (lies("no_reason")) {
        reason[0] = '\0';
    }
}

enum ops_file_result __wrap_ops_file_parse(const char *text, size_t length, struct setup *setup, struct op_list *list,
                                           struct ops_file_error *error)
{
    const enum ops_file_result result = __real_ops_file_parse(text, length, setup, list, error);
    if (result != OPS_FILE_OK) {
        spoil_reason(error->reason, sizeof error->reason);
        error->line += lies("line") ? 1000 : 0;
        error->column += lies("column") ? 1000 : 0;
    } else if (list->count > 0) {
        list->ops[0].align_log2 = (uint8_t)(lies("op") ? (list->ops[0].align_log2 + 1) % 9 : list->ops[0].align_log2);
        list->count -= lies("loses_op") ? 1 : 0;
    }
    setup->seed += lies("setup") ? 1 : 0;
    /* Only what is printed is sure to have this line. */
    const bool is_printed = memmem(text, length, "\nhosts ", 7) != NULL;
    return result == OPS_FILE_OK && is_printed && lies("refuses") ? OPS_FILE_INVALID : result;
}

static void spoil_ops(struct op_list *ops)
{
    ops->ops[0].size_bytes = lies("size") ? 0 : ops->ops[0].size_bytes;
    ops->ops[0].kind = lies("kind") ? OP_KIND_COUNT : ops->ops[0].kind;
    for (size_t i = 0; i < ops->count && lies("reference"); i++) {
        ops->ops[i].ref = ops->ops[i].ref == OP_NONE ? OP_NONE : (uint32_t)i;
    }
    ops->count -= lies("last_op") && ops->count > 1 ? 1 : 0;
}

enum import_result __wrap_import_text(const char *text, size_t length, const char *format_name,
                                      const struct import_options *options, struct import *import,
                                      struct import_error *error)
{
    const enum import_result result = __real_import_text(text, length, format_name, options, import, error);
    if (result == IMPORT_OK) {
        spoil_ops(&import->ops);
        return result;
    }
    spoil_reason(error->reason, sizeof error->reason);
    error->line += lies("line") ? 1000 : 0;
    error->column += lies("column") ? 1000 : 0;
    return result;
}
