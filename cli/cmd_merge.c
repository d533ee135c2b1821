/* merge: the shards of a campaign become one. */
#include "campaign/engine/campaign.h"
#include "cli/subcommands.h"

static enum exit_code merge_subcommand(const struct arguments *arguments)
{
    const struct merge_options given = {.directories = arguments->words,
                                        .directory_count = arguments->word_count,
                                        .out = arguments->run.out == NULL ? "out"
                                                                          : arguments->run.out,
                                        .annotation = arguments->run.annotation,
                                        .is_json = arguments->run.is_json};
    return campaign_merge(&given);
}

const struct subcommand subcommand_merge = {
    .name = "merge",
    .summary = "join the results of the shards of a campaign",
    .usage = "DIR ... [--out DIR]",
    .description =
        "Merges the directories of run --shard, in any order, into what one run with the same seeds would\n"
        "have left: results.jsonl, summary.json, junit.xml, results.sarif, repros, certificates, kept\n"
        "lists, what targets printed and the logs of hosts, with other times and the paths of the new\n"
        "directory.  Where a shard is missing or did not end, the findings of the others are joined.  Files\n"
        "that earlier campaigns left there are not copied.  The exit code is that of one run of the whole\n"
        "campaign.",
    .examples = {"hbmstress merge out-1 out-2 --out out", "hbmstress merge out/rank-* --out whole"},
    .options = "--out --annotate --json",
    .word_count_min = 1,
    .word_count_max = SIZE_MAX,
    .word_name = "DIR",
    .run = merge_subcommand,
};
