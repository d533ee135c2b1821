/* An out-of-memory of one line that no importer makes a list of: what it asks for, what it shows,
 * and what to do in the system that printed it. */
#ifndef EXPLAIN_LOG_MESSAGE_H
#define EXPLAIN_LOG_MESSAGE_H

#include "formats/log/log_story.h"
#include "harness/base/writing.h"

/* Appends it, in words or as JSON lines message and next; event is an out-of-memory.  reason: why
 * there is no list.  Of a form that importers read, the reason alone. */
void explain_log_message(const struct log_event *event, const char *reason, bool is_json,
                         struct writing *text);

#endif
