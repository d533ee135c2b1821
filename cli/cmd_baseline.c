/* baseline: the findings of a campaign as a list of known ones. */
#include "campaign/engine/baseline.h"
#include "campaign/engine/checkpoint.h"
#include "campaign/engine/output.h"
#include "cli/subcommands.h"

static enum exit_code print_baseline(const struct campaign_description *description,
                                     const struct checkpoint *checkpoint)
{
    struct output output;
    struct writing text;
    output_init(&output, false);
    writing_init(&text);
    baseline_print(&checkpoint->findings, description->head.setup.target, &text);
    output_text(&output, &text);
    output_flush(&output);
    writing_deinit(&text);
    return output.is_failed ? EXIT_HARNESS : EXIT_KEPT;
}

static enum exit_code baseline_subcommand(const struct arguments *arguments)
{
    struct campaign_description description;
    struct checkpoint checkpoint;
    enum exit_code code = checkpoint_load(arguments->words[0], &description, &checkpoint);
    if (code == EXIT_KEPT) {
        code = print_baseline(&description, &checkpoint);
    }
    checkpoint_deinit(&checkpoint);
    campaign_description_deinit(&description);
    return code;
}

static const char *const options[] = {NULL};

static const char *const examples[] = {
    "hbmstress baseline out >known.txt",
    "hbmstress run --job nightly --baseline known.txt",
    NULL,
};

const struct subcommand subcommand_baseline = {
    .name = "baseline",
    .summary = "print the findings of a campaign as known ones, for run --baseline",
    .usage = "OUT",
    .description =
        "OUT is the directory that run --out wrote.  The list goes to standard output: two lines for each\n"
        "finding, its signature and a reason.  Write down why you accept it, and delete what you do not.\n"
        "With run --baseline FILE, only findings that are not in the list make the run red.",
    .exits = exit_meanings_of_work,
    .examples = examples,
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "OUT",
    .run = baseline_subcommand,
};
