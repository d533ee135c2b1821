#include "replay/replay.h"

#include "campaign/base/place.h"
#include "campaign/base/repro.h"
#include "campaign/base/target_path.h"
#include "campaign/process/death.h"
#include "campaign/process/shrink_process.h"

#include <inttypes.h>

/* Returns what the shorter list shows. */
static const char *name_effect(const struct shrunk *shrunk)
{
    return shrunk->first.kind == VERDICT_DISPUTED
               ? "no promise, but the judges of hbmstress disagree"
               : shrunk->signature;
}

static enum exit_code save_shrunk(const struct shrink_options *options,
                                  const struct recording *recording, const struct shrunk *shrunk)
{
    char headline[VERDICT_REASON_BYTES + SIGNATURE_BYTES + 16], shrunk_from[96];
    struct writing comments;
    snprintf(headline, sizeof headline, "breaks %s: %s", name_effect(shrunk), shrunk->first.reason);
    snprintf(shrunk_from, sizeof shrunk_from, "shrunk from %zu ops in %" PRIu64 " replays%s",
             recording->ops.count, shrunk->replays,
             shrunk->is_minimal ? "; no single op can be removed" : "");
    const struct repro repro = {.ops = &shrunk->ops,
                                .headline = headline,
                                .shrunk_from = shrunk_from,
                                .not_to_the_end = shrunk->cut};
    writing_init(&comments);
    repro_append_comments(&repro, &comments);
    target_path_append_comment(&comments, shrunk->setup.target, options->output);
    const enum exit_code code = ops_output(options->output, &shrunk->setup, &shrunk->ops,
                                           writing_string(&comments));
    if (code == EXIT_KEPT) {
        message_note("%zu of %zu ops are left after %" PRIu64 " replays, and break %s%s%s",
                     shrunk->ops.count, recording->ops.count, shrunk->replays, name_effect(shrunk),
                     shrunk->cut[0] == '\0' ? "" : "; a shorter list may exist: ", shrunk->cut);
    }
    writing_deinit(&comments);
    if (code != EXIT_KEPT) {
        return code;
    }
    return shrunk->first.kind == VERDICT_DISPUTED ? EXIT_HARNESS : EXIT_BROKEN;
}

static enum exit_code shrink_recording(const struct shrink_options *options,
                                       const struct recording *recording)
{
    struct shrunk shrunk = {0};
    op_list_init(&shrunk.ops);
    enum exit_code code;
    const struct shrink_process shrink_process = {
        .target = recording->target,
        .setup = &recording->setup,
        .ops = &recording->ops,
        .replay_count_max = options->reading.run->shrink_budget,
        .duration_ns = options->reading.run->duration_ns,
        .changes_setup = true};
    death_set_op_timeout(options->reading.run->op_timeout_ns);
    switch (shrink_process_run(&shrink_process, &shrunk)) {
    case SHRINK_PROCESS_DONE:
        code = save_shrunk(options, recording, &shrunk);
        break;
    case SHRINK_PROCESS_NOT_BROKEN:
        code =
            shrunk.signature[0] == '\0'
                ? message_fail(
                      EXIT_USAGE,
                      "%s: the list breaks no promise of target %s, so there is nothing to shrink",
                      options->path, recording->setup.target)
                : message_fail(
                      EXIT_BROKEN,
                      "%s: the list breaks %s, but not in every replay, so nothing shorter is written",
                      options->path, shrunk.signature);
        break;
    default:
        code = message_fail(EXIT_HARNESS, "%s: %s", options->path, shrunk.why);
        break;
    }
    writing_deinit(&shrunk.certificate);
    op_list_deinit(&shrunk.ops);
    return code;
}

enum exit_code replay_shrink(const struct shrink_options *options)
{
    struct recording recording;
    struct output_place place;
    if (options->output != NULL &&
        place_find(options->output, options->path, &place) != EXIT_KEPT) {
        return EXIT_USAGE;
    }
    enum exit_code code = recording_read(options->path, options->reading, false, &recording);
    code = code == EXIT_KEPT ? shrink_recording(options, &recording) : code;
    recording_deinit(&recording);
    return code;
}
