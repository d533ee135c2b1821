/* What a whole log tells, as JSON lines. */
#ifndef EXPLAIN_LOG_JSON_H
#define EXPLAIN_LOG_JSON_H

#include "formats/log/log_story.h"
#include "harness/base/writing.h"

/* Appends a line log_event for each event, then the line log. */
void explain_log_in_json(const struct log_story *story, struct writing *text);

#endif
