#include "cli/private/watch_parts.h"

#include "campaign/base/below.h"
#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"
#include "campaign/engine/checkpoint.h"
#include "harness/base/check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* The state is read again this often: a campaign writes it once a second. */
enum { SCREEN_MS = 1000, PIPE_MS = 10000, NAP_MS = 50 };

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

enum exit_code watching_campaign(struct watching *watching)
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
