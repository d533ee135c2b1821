/* OUT/campaign and OUT/checkpoint: what a campaign leaves behind, at every moment, so that another
 * process can go on with it after any end, or join it with others.  OUT/campaign says once which
 * campaign it is; OUT/checkpoint says where it stands and is replaced as a whole.  Both are for the
 * program that wrote them: another build refuses them. */
#ifndef CAMPAIGN_ENGINE_CHECKPOINT_H
#define CAMPAIGN_ENGINE_CHECKPOINT_H

#include "campaign/base/message.h"
#include "campaign/engine/campaign_record.h"
#include "harness/base/writing.h"

void campaign_description_deinit(struct campaign_description *description);
void checkpoint_deinit(struct checkpoint *checkpoint);

/* The files as bytes: what is saved, and the head of such bytes made good for what follows it. */
void campaign_description_print(const struct campaign_description *description,
                                struct writing *bytes);
void checkpoint_print(const struct checkpoint *checkpoint,
                      const struct campaign_description *description, struct writing *bytes);
void checkpoint_seal(struct writing *bytes);

/* Each replaces its file in directory; the state is on the disk then, while the description may not
 * be yet.  False: errno says why. */
bool campaign_description_save(const struct campaign_description *description,
                               const char *directory);
bool checkpoint_save(const struct checkpoint *checkpoint,
                     const struct campaign_description *description, const char *directory);
/* The same in two steps, with time between them to force what it names to the disk: the file under
 * another name, of CHECKPOINT_STAGED_NAME in directory, then its own. */
#define CHECKPOINT_STAGED_NAME "checkpoint.partial"
bool checkpoint_stage(const struct checkpoint *checkpoint,
                      const struct campaign_description *description, const char *directory);
bool checkpoint_commit(const char *directory);
/* The file under the other name goes, if it is there. */
void checkpoint_unstage(const char *directory);

/* Removes what another campaign left there: from now on nobody can go on with it. */
void checkpoint_forget(const char *directory);

/* The reverse of print, for bytes that may come from a stranger: each field is looked at
 * (checkpoint_check.h).  NULL, or why not, perhaps in reason.  The caller deinits in any case. */
enum { CHECKPOINT_REASON_BYTES = 128 };
const char *campaign_description_parse(const struct writing *bytes,
                                       struct campaign_description *description,
                                       char reason[CHECKPOINT_REASON_BYTES]);
const char *checkpoint_parse(const struct writing *bytes,
                             const struct campaign_description *description,
                             struct checkpoint *checkpoint, char reason[CHECKPOINT_REASON_BYTES]);

/* Reads both; the caller deinits both in any case.  EXIT_KEPT, or EXIT_USAGE after one message: no
 * campaign is there, it is another build's, it is a link, or it is damaged. */
enum exit_code checkpoint_load(const char *directory, struct campaign_description *description,
                               struct checkpoint *checkpoint);

#endif
