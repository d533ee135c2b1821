/* The known findings of a target: a text file of signatures, each with the reason why it is
 * accepted.  A campaign that finds nothing else is not red. */
#ifndef CAMPAIGN_ENGINE_BASELINE_H
#define CAMPAIGN_ENGINE_BASELINE_H

#include "campaign/base/message.h"
#include "campaign/engine/findings.h"
#include "harness/base/writing.h"

/* Zero is a valid start: nothing is known. */
struct baseline {
    char (*signatures)[SIGNATURE_BYTES]; /* count of them */
    size_t count, capacity;
};
void baseline_deinit(struct baseline *baseline);

/* Reads path.  EXIT_KEPT, or EXIT_USAGE after one message with file and line; deinit in both cases.
 */
enum exit_code baseline_read(const char *path, struct baseline *baseline);
bool baseline_has(const struct baseline *baseline, const char *signature);

/* Appends the findings as such a file; target is whose they are. */
void baseline_print(const struct findings *findings, const char *target, struct writing *text);

#endif
