#include "tests/formats/torch_rig.h"

#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct import import;
struct import_error refusal;

void setup_import(void)
{
    import_init(&import);
    refusal = (struct import_error){0};
}

void teardown_import(void)
{
    import_deinit(&import);
}

void load(const char *path, const char *format)
{
    char text[4096 + IMPORT_REASON_BYTES];
    const enum import_result result = import_file(path, format, NULL, &import, &refusal);
    ck_assert_msg(result == IMPORT_OK, "%s", import_error_print(path, &refusal, text, sizeof text));
}

char *ops_text(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    char op[OP_TEXT_BYTES];
    for (size_t i = 0; i < import.ops.count; i++) {
        fprintf(stream, "%s\n", op_print(&import.ops.ops[i], op));
    }
    fclose(stream);
    return text;
}

void assert_ops(const char *expected)
{
    char *text = ops_text();
    ck_assert_str_eq(text, expected);
    free(text);
}

char *file_bytes(const char *path, size_t *length)
{
    gzFile file = gzopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t room = 1 << 16;
    char *bytes = malloc(room);
    *length = 0;
    for (int got; (got = gzread(file, bytes + *length, (unsigned)(room - *length))) > 0;) {
        *length += (size_t)got;
        if (*length == room) {
            room *= 2;
            bytes = realloc(bytes, room);
        }
    }
    gzclose(file);
    bytes[*length] = '\0';
    return bytes;
}

uint64_t replay(void)
{
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    ck_assert_msg(
        trial_replay(target_find("hbm"), &import.setup, &import.ops, NULL, &trial, reason), "%s",
        reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: %s", verdict_name(trial.first.kind),
                  trial.first.reason);
    ck_assert_uint_eq(trial.totals.skipped, 0);
    const uint64_t ooms = trial.totals.ooms;
    trial_deinit(&trial);
    return ooms;
}

bool was_refused(uint32_t op)
{
    for (size_t i = 0; i < import.said_count; i++) {
        if (import.said[i].op == op && import.said[i].kind == SAID_FAILED) {
            return true;
        }
    }
    return false;
}

struct live count_live(void)
{
    struct live live = {0};
    for (uint32_t i = 0; i < import.ops.count; i++) {
        const struct op *op = &import.ops.ops[i];
        const bool is_end = op->kind == OP_FREE || op->kind == OP_COMPLETE;
        if (op->kind == OP_ALLOC && !was_refused(i)) {
            live.bytes += op->size_bytes;
            live.requested_bytes += op->unpadded_bytes == 0 ? op->size_bytes : op->unpadded_bytes;
            live.count++;
        }
        if (is_end) {
            const struct op *freed = op->kind == OP_FREE ? op : &import.ops.ops[op->event];
            const struct op *made = &import.ops.ops[freed->ref];
            if (!was_refused(freed->ref)) {
                live.bytes -= made->size_bytes;
                live.requested_bytes -= made->unpadded_bytes == 0 ? made->size_bytes
                                                                  : made->unpadded_bytes;
                live.count--;
            }
        }
        live.peak_bytes = live.bytes > live.peak_bytes ? live.bytes : live.peak_bytes;
    }
    return live;
}
