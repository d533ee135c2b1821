#include "replay/private/replay_parts.h"

#include "campaign/base/place.h"
#include "campaign/base/repro.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/lanes/lanes_list.h"
#include "harness/op/ops_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum exit_code replay_proofs_init(struct replay_proofs *proofs, const char *directory)
{
    *proofs = (struct replay_proofs){
        .directory = directory,
        .list = {.name = "list.ops", .descriptor = -1},
        .observations = {.name = "observations.jsonl", .descriptor = -1}};
    char beside[FILE_PATH_BYTES];
    if (directory == NULL) {
        return EXIT_KEPT;
    }
    const enum exit_code code = place_make_folder(directory);
    if (code != EXIT_KEPT) {
        return code;
    }
    snprintf(beside, sizeof beside, "%s/", directory);
    return partial_create(beside, proofs->partial)
               ? EXIT_KEPT
               : message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
}

void replay_proofs_deinit(struct replay_proofs *proofs)
{
    partial_remove(proofs->partial);
    observation_log_destroy(proofs->log);
    writing_deinit(&proofs->list.waiting);
    writing_deinit(&proofs->observations.waiting);
}

/* Names the file in proofs->path. */
static void name_file(struct replay_proofs *proofs, const char *name)
{
    snprintf(proofs->path, sizeof proofs->path, "%.3900s/%.160s", proofs->directory, name);
}

static bool fail_to_write(struct replay_proofs *proofs, const char *name)
{
    const int why = errno;
    name_file(proofs, name);
    (void)message_fail(EXIT_HARNESS, "%s: %s", proofs->path, strerror(why));
    proofs->is_failed = true;
    return false;
}

/* --- the list and what it met --- */

/* Both files can be used up to any of their lines, so they grow in place, by whole lines. */
enum { WAITING_BYTES_MAX = 1 << 16 };

static bool open_file(struct replay_proofs *proofs, struct proof_file *file)
{
    name_file(proofs, file->name);
    file->descriptor = open(proofs->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return file->descriptor >= 0 || fail_to_write(proofs, file->name);
}

/* Cuts off what was not written whole. */
static void cut_file(struct replay_proofs *proofs, const struct proof_file *file)
{
    name_file(proofs, file->name);
    if (file->length == 0 || ftruncate(file->descriptor, (off_t)file->length) != 0) {
        (void)unlink(proofs->path);
    }
}

static bool flush_file(struct replay_proofs *proofs, struct proof_file *file)
{
    const struct writing *waiting = &file->waiting;
    if (!file_write_all(file->descriptor, waiting->bytes, waiting->length)) {
        (void)fail_to_write(proofs, file->name);
        cut_file(proofs, &proofs->list);
        cut_file(proofs, &proofs->observations);
        return false;
    }
    file->length += waiting->length;
    writing_clear(&file->waiting);
    return true;
}

/* A target that dies next takes nothing of them with it. */
static bool flush_both(struct replay_proofs *proofs)
{
    return flush_file(proofs, &proofs->list) && flush_file(proofs, &proofs->observations);
}

static void close_file(struct proof_file *file)
{
    if (file->descriptor >= 0) {
        close(file->descriptor);
    }
    file->descriptor = -1;
}

/* The order of ops in time is that of the schedule, at the end of the list. */
static void print_lanes(FILE *stream, const struct setup *setup, const struct op_list *ops)
{
    struct op_list plain;
    struct schedule_switch *switches = NULL;
    op_list_init(&plain);
    const size_t count = lanes_take_schedule(ops, &plain, &switches);
    lanes_append_schedule(&plain, switches, count);
    ops_file_print(stream, setup, &plain, NULL);
    free(switches);
    op_list_deinit(&plain);
}

/* Prints all of a list with lanes, and otherwise what comes before the first op. */
static void print_list_head(struct writing *text, const struct setup *setup,
                            const struct op_list *ops)
{
    static const struct op_list none = {0};
    char *bytes = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&bytes, &length);
    CHECK(stream != NULL);
    if (lanes_are_in(ops)) {
        print_lanes(stream, setup, ops);
    } else {
        ops_file_print(stream, setup, &none, NULL);
    }
    CHECK(fclose(stream) == 0);
    writing_append_bytes(text, bytes, length);
    free(bytes);
}

static bool begin_both(struct replay_proofs *proofs, const struct run *run,
                       const struct op_list *ops)
{
    if (!open_file(proofs, &proofs->list) || !open_file(proofs, &proofs->observations)) {
        return false;
    }
    proofs->log = observation_log_create();
    print_list_head(&proofs->list.waiting, run_setup(run), ops);
    observation_log_print_head(run, &proofs->observations.waiting);
    return true;
}

static void print_last_op(struct replay_proofs *proofs, const struct run *run)
{
    char text[OP_TEXT_BYTES];
    const struct op_list *ops = run_ops(run);
    const size_t last = ops->count - 1;
    CHECK(last == proofs->op_count);
    writing_append_format(&proofs->list.waiting, "%zu: %s\n", last,
                          op_print(&ops->ops[last], text));
    observation_log_print_op(proofs->log, run, &proofs->observations.waiting);
}

void replay_proofs_take(struct replay_proofs *proofs, const struct run *run,
                        const struct op_list *ops)
{
    const size_t op_count = run_ops(run)->count;
    /* The ops that clean up after the list are not part of it. */
    if (proofs->directory == NULL || proofs->is_failed || op_count == proofs->op_count ||
        (proofs->op_count == 0 && !begin_both(proofs, run, ops))) {
        return;
    }
    if (!lanes_are_in(ops)) {
        print_last_op(proofs, run);
    }
    proofs->op_count = op_count;
    if (proofs->observations.waiting.length > WAITING_BYTES_MAX) {
        (void)flush_both(proofs);
    }
}

/* --- certificates --- */

const char *replay_proofs_save(struct replay_proofs *proofs, const struct verdict *verdict,
                               const struct writing *certificate)
{
    char name[64];
    if (proofs->is_failed || !flush_both(proofs)) {
        return NULL;
    }
    snprintf(name, sizeof name, "op-%lu-%s.json", (unsigned long)verdict->op,
             verdict_name(verdict->kind));
    name_file(proofs, name);
    if (certificate_write(proofs->path, proofs->partial, certificate->bytes, certificate->length)) {
        return proofs->path;
    }
    (void)fail_to_write(proofs, name);
    return NULL;
}

bool replay_proofs_end(struct replay_proofs *proofs)
{
    if (proofs->op_count > 0 && !proofs->is_failed) {
        (void)flush_both(proofs);
    }
    close_file(&proofs->list);
    close_file(&proofs->observations);
    return !proofs->is_failed;
}
