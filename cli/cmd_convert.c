/* convert: a field log or a trace becomes an op list; what a list does, a trace for other tools. */
#include "campaign/base/file.h"
#include "cli/subcommands.h"
#include "harness/base/check.h"
#include "replay/replay.h"

#include <stdio.h>
#include <string.h>

enum { KIND_COUNT_MAX = 16 };

static enum exit_code fail_unknown(const char *path, const char *kind)
{
    const char *names[KIND_COUNT_MAX];
    char hint[256] = "valid kinds: ops";
    size_t count = 0;
    for (size_t i = 0; exporters[i] != NULL; i++) {
        CHECK(count + 1 < KIND_COUNT_MAX);
        names[count++] = exporters[i]->name;
        const size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, ", %s", exporters[i]->name);
    }
    names[count++] = "ops"; /* the last of equally near ones */
    return kind == NULL
               ? message_fail(EXIT_USAGE, "%s: its name does not say what it is; give --to; %s",
                              path, hint)
               : message_unknown("kind", kind, message_nearest(kind, names, count), hint);
}

/* Finds the kind by --to, or by the output's suffix; *exporter is NULL for an op list. */
static enum exit_code find_kind(const struct arguments *arguments, const struct exporter **exporter)
{
    const char *kind = arguments->to, *path = arguments->output;
    *exporter = NULL;
    if (kind == NULL && path != NULL) {
        *exporter = exporter_of_path(path);
        return *exporter != NULL || file_name_ends_in(path, ".ops") ? EXIT_KEPT
                                                                    : fail_unknown(path, NULL);
    }
    if (kind == NULL || strcmp(kind, "ops") == 0) {
        return EXIT_KEPT;
    }
    *exporter = exporter_find(kind);
    return *exporter == NULL ? fail_unknown(path, kind) : EXIT_KEPT;
}

static enum exit_code convert_subcommand(const struct arguments *arguments)
{
    const struct convert_options given = {.reading = arguments_reading(arguments),
                                          .path = arguments->words[0],
                                          .output = arguments->output,
                                          .at = arguments->at};
    const struct exporter *exporter;
    const enum exit_code code = find_kind(arguments, &exporter);
    if (code != EXIT_KEPT) {
        return code;
    }
    if (exporter == NULL && given.at != NULL) {
        return message_fail(EXIT_USAGE, "--at applies to --to pprof alone");
    }
    return exporter == NULL ? convert_to_ops(&given) : convert_to_trace(&given, exporter);
}

const struct subcommand subcommand_convert = {
    .name = "convert",
    .summary =
        "turn a field log or a trace into an op list, or a list into a trace for other tools",
    .usage = "FILE [-o OUT] [--to KIND] [options]",
    .description =
        "FILE has any format (list formats), which its text shows unless --format names it.  - is standard\n"
        "input, here and wherever a log or an op list is read.  The kind of OUT follows from its suffix, or\n"
        "from --to; without both it is an op list on standard output.  If a fact is missing, convert names\n"
        "it and its line, and writes nothing.\n\n"
        "  ops             the op list: .ops\n\n"
        "The other kinds run FILE on its target and show what happened to each block\n"
        "(docs/formats/export.md); the exit code is that of the run:\n\n"
        "  csv             a table of events: .csv\n"
        "  rmm             a log of RAPIDS RMM: .rmm.csv\n"
        "  torch_snapshot  a memory snapshot of PyTorch, in JSON: .json\n"
        "  memory_viz      the same as a pickle, for pytorch.org/memory_viz: .pickle\n"
        "  perfetto        a timeline of ops, mitigations and memory, for ui.perfetto.dev: .perfetto.json\n"
        "  svg             a picture, the memory by address over time, and its curves: .svg\n"
        "  pprof           who holds memory at one moment (--at), for go tool pprof: .pb.gz\n"
        "  run_ops         the ops that were run, with every reference and size resolved",
    .examples = {"hbmstress convert crash.log -o crash.ops --chip v4",
                 "zcat crash.log.1.gz | hbmstress convert - --chip v4",
                 "hbmstress convert crash.log -o crash.pickle"},
    .options =
        "--to --output --format --at --target --target-option --chip --capacity --hosts --seed "
        "--kv-bytes-per-token --kv-tokens-per-second --trial-timeout --op-timeout",
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FILE",
    .run = convert_subcommand,
};
