/* watch: memory over time, of a campaign while it runs or later. */
#include "cli/private/watch_parts.h"

#include "cli/subcommands.h"
#include "present/screen.h"
#include "present/watch.h"

#include <sys/stat.h>
#include <unistd.h>

enum { SCREEN_LINES_FREE = 2 };

/* --- drawing --- */

/* Leaves the lines drawn before where they are at another width: they may have been wrapped. */
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
    watching->is_alarmed = false;
    for (size_t i = 0; i < count && watching->chart.alarm_percent > 0; i++) {
        watching->is_alarmed = watching->is_alarmed ||
                               memory_is_alarming(devices[i].track, watching->chart.alarm_percent);
    }
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

static enum exit_code watch_subcommand(const struct arguments *arguments)
{
    struct watching watching;
    if (!is_directory(arguments->words[0])) {
        return message_fail(EXIT_USAGE,
                            "%s: watch shows the DIR of a campaign; for the memory of a file: "
                            "hbmstress explain FILE --timeline",
                            arguments->words[0]);
    }
    watching_init(&watching, arguments);
    enum exit_code code = watching_campaign(&watching);
    if (code == EXIT_KEPT && watching.is_alarmed) {
        code = EXIT_BROKEN;
    }
    if (watching.output.is_failed) {
        code = EXIT_HARNESS;
    }
    watching_deinit(&watching);
    return code;
}

static const char *const options[] = {"--alarm", "--follow", "--json", NULL};

static const char *const examples[] = {
    "hbmstress watch out --follow --alarm 90%",
    NULL,
};

static const char *const exits[EXIT_MEANING_COUNT] = {
    [EXIT_KEPT] = "it is shown",
    [EXIT_BROKEN] = "a job filled the share of its device that --alarm names",
    [EXIT_USAGE] = "bad usage or input",
    [EXIT_HARNESS] = "hbmstress itself failed",
};

const struct subcommand subcommand_watch = {
    .name = "watch",
    .summary = "show the memory in use of a campaign over time, while it runs or later",
    .usage = "DIR [options]",
    .description =
        "DIR is the directory of a campaign, running or ended.  For each job, watch shows the fullest moment\n"
        "of the last trial on its fullest host, and of the trials before: the memory in use and in total,\n"
        "the peak, a sparkline over the whole time, and by how much it grows.  First fillings, single spikes\n"
        "and what steps return are no growth.  The peak is the most bytes in use.  With --alarm 90%, a line\n"
        "that begins with ALARM follows each job that filled 90% or more, and the exit code is 1.  For the\n"
        "memory of a file: hbmstress explain FILE --timeline.",
    .exits = exits,
    .examples = examples,
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "DIR",
    .run = watch_subcommand,
};
