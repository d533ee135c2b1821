/* report: one page that shows what a night or a list came to, for people who look before they read.
 */
#include "campaign/base/file.h"
#include "campaign/engine/baseline.h"
#include "campaign/engine/checkpoint.h"
#include "campaign/engine/output.h"
#include "cli/subcommands.h"
#include "explain/explain.h"
#include "page/report_page.h"
#include "present/screen.h"
#include "recording/picture.h"

#include <stdio.h>
#include <sys/stat.h>

/* Of the words on a page: it is read in a browser, wherever it is made. */
enum { PAGE_COLUMNS = 118 };

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A directory of logs is a field file. */
static bool is_campaign(const char *path)
{
    char results[FILE_PATH_BYTES];
    struct stat status;
    snprintf(results, sizeof results, "%.3800s/results.jsonl", path);
    return is_directory(path) && lstat(results, &status) == 0;
}

static enum exit_code print_written(const char *path, size_t length)
{
    struct output output;
    struct writing text;
    output_init(&output, false);
    writing_init(&text);
    writing_append_visible(&text, path);
    writing_append_format(&text, ": %zu KiB; open it in a browser\n", (length + 1023) / 1024);
    output_text(&output, &text);
    output_flush(&output);
    writing_deinit(&text);
    return output.is_failed ? EXIT_HARNESS : EXIT_KEPT;
}

static enum exit_code explain_shown(const void *context, const struct recording *recording,
                                    struct writing *text, char why[PAGE_WHY_BYTES])
{
    return explain_text(context, recording, text, why);
}

static enum exit_code compare_shown(const void *context, const char *against, struct writing *text)
{
    const struct explain_options *explaining = context;
    const char *const paths[2] = {against, explaining->paths[0]};
    return explain_compare_text(explaining, paths, text);
}

/* Prints a campaign's baseline, as a list that run --baseline reads. */
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

static enum exit_code print_known(const char *path)
{
    struct campaign_description description;
    struct checkpoint checkpoint;
    enum exit_code code = checkpoint_load(path, &description, &checkpoint);
    if (code == EXIT_KEPT) {
        code = print_baseline(&description, &checkpoint);
    }
    checkpoint_deinit(&checkpoint);
    campaign_description_deinit(&description);
    return code;
}

static enum exit_code report_subcommand(const struct arguments *arguments)
{
    const char *path = arguments->words[0];
    const char *against = arguments->against;
    const char *out = arguments->output == NULL ? "report.html" : arguments->output;
    const bool has_campaign = is_campaign(path);
    const struct explain_options explaining = arguments_explaining(arguments);
    const struct page_options given = {.reading = explaining.reading,
                                       .path = path,
                                       .against = against,
                                       .explain = explain_shown,
                                       .compare = compare_shown,
                                       .context = &explaining};
    static const char *const of_baseline[] = {"--baseline", NULL};
    struct writing html;
    enum exit_code code;
    if (arguments->has_baseline) {
        const char *besides = arguments_gave_besides(arguments, of_baseline);
        return besides == NULL
                   ? print_known(path)
                   : message_fail(EXIT_USAGE, "%s has no meaning with --baseline", besides);
    }
    if (against != NULL && is_campaign(against) != has_campaign) {
        return message_fail(EXIT_USAGE,
                            "--against: %s is the directory of a campaign, and %s is not",
                            has_campaign ? path : against, has_campaign ? against : path);
    }
    screen_keep_columns(PAGE_COLUMNS);
    writing_init(&html);
    code = has_campaign ? report_campaign(&given, &html) : report_list(&given, &html);
    if (code == EXIT_KEPT) {
        code = picture_write(out, html.bytes, html.length);
    }
    if (code == EXIT_KEPT) {
        code = print_written(out, html.length);
    }
    writing_deinit(&html);
    return code;
}

static const char *const options[] = {"--output",
                                      "--baseline",
                                      "--against",
                                      "--format",
                                      "--target",
                                      "--target-option",
                                      "--chip",
                                      "--capacity",
                                      "--hosts",
                                      "--seed",
                                      "--kv-bytes-per-token",
                                      "--kv-tokens-per-second",
                                      "--op-timeout",
                                      "--trial-timeout",
                                      NULL};

static const char *const examples[] = {
    "hbmstress report out -o night.html --against out-yesterday",
    "hbmstress report snapshot.pickle",
    "hbmstress report out --baseline >known.txt",
    NULL,
};

static const char *const exits[EXIT_MEANING_COUNT] = {
    [EXIT_KEPT] = "the page is written, whatever it shows",
    [EXIT_USAGE] = "bad usage or input",
    [EXIT_HARNESS] = "hbmstress itself failed",
};

const struct subcommand subcommand_report = {
    .name = "report",
    .summary = "write one page that shows a campaign, a list or a field trace",
    .usage = "PATH [-o report.html] [--against PATH] [options]",
    .description =
        "PATH is the directory of a campaign, running or ended, or a FILE of any format (list formats),\n"
        "which is run on its target.  Report writes one HTML file that opens from disk and asks no host\n"
        "for anything: the verdict, each finding, memory over time, tables (docs/report.md).\n"
        "--against compares with an earlier campaign, or with another trace, step by step.\n\n"
        "With --baseline, report writes no page.  It prints two lines for each finding of the campaign, its\n"
        "signature and a reason.  Write down why you accept it, and delete what you do not.  With run\n"
        "--baseline FILE, only findings that are not in that list make the run red.",
    .exits = exits,
    .examples = examples,
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "PATH",
    .takes_own_forms = true,
    .run = report_subcommand,
};
