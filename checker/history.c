#include "checker/private/history.h"

#include <stdio.h>
#include <stdlib.h>

static bool read_texts(struct certificate_history *history, const struct certificate_text *list,
                       const struct certificate_text *observations,
                       char reason[CERTIFICATE_REASON_BYTES])
{
    struct lines lines;
    history->list.text = *list;
    history->has_log = observations != NULL;
    lines_init(&lines, list, reason);
    if (!list_read(&history->list, &lines)) {
        return false;
    }
    if (observations != NULL) {
        lines_init(&lines, observations, reason);
    }
    return observations == NULL || log_read(&history->log, &history->list, &lines);
}

struct certificate_history *certificate_history_read(const struct certificate_text *list,
                                                     const struct certificate_text *observations,
                                                     char reason[CERTIFICATE_REASON_BYTES])
{
    struct certificate_history *history = calloc(1, sizeof *history);
    if (history == NULL) {
        snprintf(reason, CERTIFICATE_REASON_BYTES, "no memory");
        return NULL;
    }
    if (!read_texts(history, list, observations, reason)) {
        certificate_history_destroy(history);
        return NULL;
    }
    return history;
}

void certificate_history_destroy(struct certificate_history *history)
{
    if (history != NULL) {
        list_deinit(&history->list);
        log_deinit(&history->log);
        free(history);
    }
}
