#include "cli/replay_proofs.h"

#include "campaign/base/certificates.h"
#include "campaign/base/partial.h"
#include "campaign/base/place.h"
#include "harness/lanes/lanes_list.h"
#include "harness/op/ops_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum exit_code replay_proofs_init(struct replay_proofs *proofs, const char *directory)
{
    *proofs = (struct replay_proofs){.directory = directory};
    char beside[FILE_PATH_BYTES];
    if (directory == NULL) {
        return EXIT_KEPT;
    }
    const enum exit_code code = place_make_folder(directory);
    if (code != EXIT_KEPT) {
        return code;
    }
    snprintf(beside, sizeof beside, "%s/", directory);
    if (partial_create(beside, proofs->partial)) {
        return EXIT_KEPT;
    }
    return message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
}

void replay_proofs_deinit(struct replay_proofs *proofs)
{
    partial_remove(proofs->partial);
    observation_log_destroy(proofs->log);
    writing_deinit(&proofs->line);
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

/* A log is of use up to any of its lines, so both files grow in their places. */
static const char list_name[] = "list.ops", observations_name[] = "observations.jsonl";

static FILE *open_file(struct replay_proofs *proofs, const char *name)
{
    name_file(proofs, name);
    FILE *stream = fopen(proofs->path, "we");
    if (stream == NULL) {
        (void)fail_to_write(proofs, name);
    }
    return stream;
}

static bool open_both(struct replay_proofs *proofs)
{
    proofs->list = open_file(proofs, list_name);
    proofs->observations = proofs->is_failed ? NULL : open_file(proofs, observations_name);
    proofs->log = observation_log_create();
    return !proofs->is_failed;
}

/* The order of ops in time is that of the schedule, at the end of the list. */
static void print_lanes(const struct replay_proofs *proofs, const struct run *run,
                        const struct op_list *ops)
{
    struct op_list plain;
    struct schedule_switch *switches = NULL;
    op_list_init(&plain);
    const size_t count = lanes_take_schedule(ops, &plain, &switches);
    lanes_append_schedule(&plain, switches, count);
    ops_file_print(proofs->list, run_setup(run), &plain, NULL);
    free(switches);
    op_list_deinit(&plain);
}

static void print_head(struct replay_proofs *proofs, const struct run *run,
                       const struct op_list *ops, bool has_lanes)
{
    if (has_lanes) {
        print_lanes(proofs, run, ops);
    } else {
        ops_file_print_head(proofs->list, run_setup(run));
        fputc('\n', proofs->list);
    }
    observation_log_print_head(run, &proofs->line);
}

void replay_proofs_take(struct replay_proofs *proofs, const struct run *run,
                        const struct op_list *ops)
{
    const size_t op_count = run_ops(run)->count;
    /* What cleans up behind the list is not part of it. */
    if (proofs->directory == NULL || proofs->is_failed || op_count == proofs->op_count) {
        return;
    }
    const bool has_lanes = lanes_are_in(ops);
    writing_clear(&proofs->line);
    if (proofs->op_count == 0) {
        if (!open_both(proofs)) {
            return;
        }
        print_head(proofs, run, ops, has_lanes);
    }
    if (!has_lanes) {
        ops_file_print_ops(proofs->list, run_ops(run), proofs->op_count);
        observation_log_print_op(proofs->log, run, &proofs->line);
    }
    (void)writing_print(&proofs->line, proofs->observations); /* a failure stays in the stream */
    proofs->op_count = op_count;
}

static bool flush_file(struct replay_proofs *proofs, FILE *stream, const char *name)
{
    return (fflush(stream) == 0 && !ferror(stream)) || fail_to_write(proofs, name);
}

/* A target that dies next takes nothing of them with it. */
static bool flush_both(struct replay_proofs *proofs)
{
    return flush_file(proofs, proofs->list, list_name) &&
           flush_file(proofs, proofs->observations, observations_name);
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
    if (proofs->list != NULL && proofs->observations != NULL && !proofs->is_failed) {
        (void)flush_both(proofs);
    }
    if (proofs->list != NULL) {
        fclose(proofs->list);
    }
    if (proofs->observations != NULL) {
        fclose(proofs->observations);
    }
    proofs->list = proofs->observations = NULL;
    return !proofs->is_failed;
}
