/* watch: memory over time, of a campaign while it runs or later. */
#include "campaign/base/clock.h"
#include "campaign/base/file.h"
#include "campaign/base/interrupt.h"
#include "campaign/engine/checkpoint.h"
#include "campaign/engine/output.h"
#include "cli/subcommands.h"
#include "harness/base/check.h"
#include "present/memory_chart.h"
#include "present/screen.h"
#include "present/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

struct watching {
    const struct arguments *arguments; /* words[0]: what is watched */
    struct memory_chart chart;
    struct output output;
    struct writing text;
    size_t lines_drawn, line_count_max; /* on a terminal */
    bool is_alarmed;                    /* of what was shown last */
};

/* The state is read again this often: a campaign writes it once a second. */
enum { SCREEN_MS = 1000, PIPE_MS = 10000, NAP_MS = 50, SCREEN_LINES_FREE = 2 };

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

/* No cursor moves above the first line of the screen: lines beyond it would be drawn again and
 * again.  Returns how many stay. */
static size_t cut_lines(struct writing *text, size_t count_max)
{
    size_t count = 0, length = 0;
    while (length < text->length && count < count_max) {
        count += text->bytes[length++] == '\n';
    }
    text->length = length;
    return count;
}

/* Shows count devices: on a terminal over what was shown before, else below it. */
static void watching_show(struct watching *watching, const struct memory_device *devices,
                          size_t count)
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
    watching->lines_drawn = cut_lines(text, watching->line_count_max);
    output_text(&watching->output, text);
    output_flush(&watching->output);
}

/* --- the campaign --- */

/* True if a process writes there now: it holds a lock on results.jsonl. */
static bool is_running(const char *directory)
{
    const char *why;
    const int file = below_open(directory, "results.jsonl", &why);
    if (file < 0) {
        return false;
    }
    const bool is_locked = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(file);
    return is_locked;
}

static void show_parts(struct watching *watching, const struct campaign_description *description,
                       const struct checkpoint *checkpoint)
{
    const uint64_t part_count = description->head.part_count - (description->head.has_canary != 0);
    struct memory_device *devices = calloc(part_count + 1, sizeof *devices);
    CHECK(devices != NULL);
    size_t count = 0;
    for (uint64_t i = 0; i < part_count; i++) {
        if (checkpoint->parts[i].memory.point_count > 0) {
            devices[count++] = (struct memory_device){description->parts[i].name,
                                                      &checkpoint->parts[i].memory, NULL};
        }
    }
    if (count == 0) {
        message_note("%s: no trial has ended yet", watching->arguments->words[0]);
    }
    watching_show(watching, devices, count);
    free(devices);
}

/* False: the user wants no more. */
static bool wait_a_while(uint64_t duration_ms, const char *directory)
{
    const uint64_t end_ns = clock_now_ns() + duration_ms * 1000000;
    while (!interrupt_is_requested() && clock_now_ns() < end_ns && is_running(directory)) {
        (void)usleep(NAP_MS * 1000);
    }
    return !interrupt_is_requested();
}

/* True if a campaign may be there; the words for one to resume answer another question. */
static bool has_campaign(const char *directory)
{
    char path[OUTPUT_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/campaign", directory);
    return access(path, F_OK) == 0 || errno != ENOENT;
}

/* *goes_on: another look is due. */
static enum exit_code show_once(struct watching *watching, bool *goes_on)
{
    const char *directory = watching->arguments->words[0];
    struct campaign_description description = {0};
    struct checkpoint checkpoint = {0};
    /* First: what a campaign that ends now writes last is read then. */
    const bool runs = is_running(directory);
    const enum exit_code code = checkpoint_load(directory, &description, &checkpoint);
    if (code == EXIT_KEPT) {
        show_parts(watching, &description, &checkpoint);
    }
    *goes_on = code == EXIT_KEPT && watching->arguments->has_follow && runs &&
               !watching->output.is_pipe_closed;
    checkpoint_deinit(&checkpoint);
    campaign_description_deinit(&description);
    return code;
}

/* With --follow until the campaign ends, or ctrl-C. */
static enum exit_code watch_campaign(struct watching *watching)
{
    bool goes_on = true;
    enum exit_code code = EXIT_KEPT;
    if (!has_campaign(watching->arguments->words[0])) {
        return message_fail(EXIT_USAGE,
                            "%s: no campaign has written here: there is nothing to watch",
                            watching->arguments->words[0]);
    }
    while (goes_on) {
        code = show_once(watching, &goes_on);
        if (goes_on) {
            goes_on = wait_a_while(watching->chart.width > 0 ? SCREEN_MS : PIPE_MS,
                                   watching->arguments->words[0]);
        }
    }
    return code;
}

/* --- the subcommand --- */

static enum exit_code watch_subcommand(const struct arguments *arguments)
{
    struct watching watching;
    if (!file_is_directory(arguments->words[0])) {
        return message_fail(EXIT_USAGE,
                            "%s: watch shows the DIR of a campaign; for the memory of a file: "
                            "hbmstress explain FILE --timeline",
                            arguments->words[0]);
    }
    watching_init(&watching, arguments);
    enum exit_code code = watch_campaign(&watching);
    if (code == EXIT_KEPT && watching.is_alarmed) {
        code = EXIT_BROKEN;
    }
    if (watching.output.is_failed) {
        code = EXIT_HARNESS;
    }
    writing_deinit(&watching.text);
    return code;
}

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
    .exits = {[EXIT_KEPT] = "it is shown",
              [EXIT_BROKEN] = "a job filled the share of its device that --alarm names",
              [EXIT_USAGE] = "bad usage or input",
              [EXIT_HARNESS] = "hbmstress itself failed"},
    .examples = {"hbmstress watch out --follow --alarm 90%"},
    .options = "--alarm --follow --json",
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "DIR",
    .run = watch_subcommand,
};
