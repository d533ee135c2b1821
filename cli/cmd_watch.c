/* watch: memory over time, of a campaign while it runs or later, or of a list. */
#include "cli/private/watch_parts.h"

#include "cli/subcommands.h"
#include "present/screen.h"
#include "present/watch.h"

#include <sys/stat.h>
#include <unistd.h>

enum { SCREEN_LINES_FREE = 2 };

/* --- drawing --- */

/* On another width the lines drawn before are left where they are: they may have been wrapped. */
static void look_at_screen(struct watching *watching)
{
    const struct screen screen = screen_look(STDOUT_FILENO);
    const unsigned width = screen.width == 0 ? WATCH_WIDTH_DEFAULT : screen.width;
    if (watching->arguments->run.is_json || !screen.has_cursor) {
        return;
    }
    watching->lines_drawn = width == watching->chart.width ? watching->lines_drawn : 0;
    watching->chart.width = width;
    watching->chart.has_colour = screen.has_colour;
    watching->line_count_max = watching->arguments->has_follow && screen.height > SCREEN_LINES_FREE
                                   ? screen.height - SCREEN_LINES_FREE
                                   : SIZE_MAX;
}

static void watching_init(struct watching *watching, const struct arguments *arguments)
{
    *watching = (struct watching){.arguments = arguments, .line_count_max = SIZE_MAX};
    watching->chart.alarm_percent = (unsigned)arguments->alarm_percent;
    output_init(&watching->output, arguments->run.is_json);
    writing_init(&watching->text);
    look_at_screen(watching);
}

static void watching_deinit(struct watching *watching)
{
    writing_deinit(&watching->text);
}

static size_t count_lines(const struct writing *text)
{
    size_t count = 0;
    for (size_t i = 0; i < text->length; i++) {
        count += text->bytes[i] == '\n';
    }
    return count;
}

/* No cursor moves above the first line of the screen: lines beyond it would be drawn again and
 * again. */
static void cut_lines(struct writing *text, size_t count_max)
{
    size_t count = 0, length = 0;
    while (length < text->length && count < count_max) {
        count += text->bytes[length++] == '\n';
    }
    text->length = length;
}

void watching_show(struct watching *watching, const struct memory_device *devices, size_t count)
{
    struct writing *text = &watching->text;
    writing_clear(text);
    look_at_screen(watching);
    if (watching->arguments->run.is_json) {
        for (size_t i = 0; i < count; i++) {
            memory_chart_json(&watching->chart, &devices[i], text);
        }
        if (text->length > 0) {
            output_line(&watching->output, text);
        }
        output_flush(&watching->output);
        return;
    }
    if (watching->chart.width > 0 && watching->lines_drawn > 0) {
        writing_append_format(text, "\033[%zuA", watching->lines_drawn);
    }
    for (size_t i = 0; i < count; i++) {
        (void)memory_chart_draw(&watching->chart, &devices[i], text);
    }
    cut_lines(text, watching->line_count_max);
    watching->lines_drawn = count_lines(text);
    output_text(&watching->output, text);
    output_flush(&watching->output);
}

/* --- the subcommand --- */

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* What only the run of a FILE takes; NULL: nothing of it was said. */
static const char *find_run_option(const struct arguments *arguments)
{
    return arguments->format != NULL             ? "--format"
           : arguments->run.target != NULL       ? "--target"
           : arguments->run.option_count > 0     ? "--target-option"
           : arguments->run.chip != NULL         ? "--chip"
           : arguments->run.capacity_bytes > 0   ? "--capacity"
           : arguments->run.host_count > 0       ? "--hosts"
           : arguments->kv_bytes_per_token > 0   ? "--kv-bytes-per-token"
           : arguments->kv_tokens_per_second > 0 ? "--kv-tokens-per-second"
                                                 : NULL;
}

static enum exit_code watch_subcommand(const struct arguments *arguments)
{
    struct watching watching;
    enum exit_code code;
    const bool is_campaign = is_directory(arguments->words[0]);
    if (!is_campaign && arguments->has_follow) {
        return message_fail(EXIT_USAGE,
                            "%s: --follow applies to the DIR of a campaign, and this is not one",
                            arguments->words[0]);
    }
    if (is_campaign && find_run_option(arguments) != NULL) {
        return message_fail(
            EXIT_USAGE, "%s: %s applies to a FILE that is run, and this is the DIR of a campaign",
            arguments->words[0], find_run_option(arguments));
    }
    watching_init(&watching, arguments);
    code = is_campaign ? watching_campaign(&watching) : watching_list(&watching);
    if (watching.output.is_failed) {
        code = EXIT_HARNESS;
    }
    watching_deinit(&watching);
    return code;
}

static const char *const options[] = {"--alarm",
                                      "--follow",
                                      "--format",
                                      "--target",
                                      "--target-option",
                                      "--chip",
                                      "--capacity",
                                      "--hosts",
                                      "--kv-bytes-per-token",
                                      "--kv-tokens-per-second",
                                      "--op-timeout",
                                      "--trial-timeout",
                                      "--json",
                                      NULL};

static const char *const examples[] = {
    "hbmstress watch out --follow --alarm 90%",
    "hbmstress watch crash.ops --json",
    NULL,
};

const struct subcommand subcommand_watch = {
    .name = "watch",
    .summary = "show memory in use over time, of a campaign or of an op list",
    .usage = "DIR|FILE [options]",
    .description =
        "DIR is the directory of a campaign, running or ended.  For each job, watch shows the fullest moment\n"
        "of the last trial on its fullest host, and of the trials before.\n"
        "A FILE of any format (list formats) is run on its target, and watch shows each of its hosts.\n"
        "For each it shows the memory in use and in total, the peak, a sparkline over the whole time, and by\n"
        "how much it grows.  First fillings, single spikes and what steps return are no growth.\n"
        "--follow applies only to the DIR of a campaign: a FILE is shown after it has run.\n"
        "The peak is the most bytes in use.  With --alarm 90%, a line that begins with ALARM follows each\n"
        "device that was filled to 90% or more.\n"
        "A FILE is run once, and the exit code is that of replay --replay-sample 0.  Exit 1: the FILE broke\n"
        "a promise, and the display ends there.",
    .examples = examples,
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "DIR or FILE",
    .run = watch_subcommand,
};
