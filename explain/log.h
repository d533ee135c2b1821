/* What a whole log tells, before its failure is explained: which source failed first, where and
 * how, who only waited, and what was no failure. */
#ifndef EXPLAIN_LOG_H
#define EXPLAIN_LOG_H

#include "formats/log/log_story.h"
#include "harness/base/writing.h"

/* Whether a log tells more than its one message does. */
bool explain_log_has_story(const struct log_story *story);

/* Appends it, in words or as JSON lines log_event and log; nothing where there is no story. */
void explain_log(const struct log_story *story, bool is_json, struct writing *text);
/* The same where no list can be made of the log, with what to do next; reason: why not, for an
 * out-of-memory of a device. */
void explain_log_alone(const struct log_story *story, const char *reason, bool is_json,
                       struct writing *text);

#endif
