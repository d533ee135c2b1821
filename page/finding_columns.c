#include "page/finding_columns.h"

#include "campaign/process/child.h"
#include "harness/lanes/lanes.h"
#include "recording/lane_columns.h"
#include "recording/recording.h"

/* A page shows no more of one interleaving. */
enum { COLUMN_BYTES_MAX = 32 << 10 };
#define DURATION_NS_MAX UINT64_C(10000000000)

static void write_columns(void *context, int file)
{
    const struct recording *recording = context;
    struct lane_columns *columns = lane_columns_create(&recording->ops);
    const struct scheduler_trace trace = lane_columns_trace(columns);
    const struct lanes_watch watch = lane_columns_watch(columns);
    const struct lanes_plan told = {.trace = &trace, .watch = &watch};
    struct trial trial;
    struct writing text;
    char reason[RUN_REASON_BYTES];
    writing_init(&text);
    if (lanes_replay_traced(recording->target, &recording->setup, &recording->ops, &told, NULL,
                            &trial, reason)) {
        lane_columns_print(columns, &trial.first, &text);
        (void)file_write_all(file, writing_string(&text), text.length);
        trial_deinit(&trial);
    }
    lane_columns_destroy(columns);
    writing_deinit(&text);
}

/* Cuts the text after its last whole line that fits. */
static void cut_text(struct writing *text)
{
    if (text->length <= COLUMN_BYTES_MAX) {
        return;
    }
    text->length = COLUMN_BYTES_MAX;
    while (text->length > 0 && text->bytes[text->length - 1] != '\n') {
        text->length--;
    }
    text->bytes[text->length] = '\0';
    writing_append(text, "(the rest is left out)\n");
}

bool finding_columns(const struct page_options *options, const char *path, struct writing *text)
{
    struct recording recording;
    struct writing answer;
    char death[CHILD_DEATH_BYTES];
    const uint64_t asked_ns = options->reading.run->trial_timeout_ns;
    bool is_shown = false;
    writing_init(&answer);
    if (recording_read(path, options->reading, false, &recording) == EXIT_KEPT) {
        (void)child_run(write_columns, &recording,
                        asked_ns < DURATION_NS_MAX ? asked_ns : DURATION_NS_MAX, true, &answer,
                        death);
        is_shown = answer.length > 0;
    }
    recording_deinit(&recording);
    if (is_shown) {
        cut_text(&answer);
        writing_append_bytes(text, answer.bytes, answer.length);
    }
    writing_deinit(&answer);
    return is_shown;
}
