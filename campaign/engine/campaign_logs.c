/* The logs of the hosts of a trial that counts steps. */
#include "campaign/base/file.h"
#include "campaign/engine/private/campaign_state.h"
#include "harness/base/whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static bool write_log(const char *path, const char *bytes, uint64_t length)
{
    char directory[FILE_PATH_BYTES];
    if (!make_directory_of(path, directory)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
        return false;
    }
    if (!whole_file_write(path, bytes, length, false)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

void campaign_save_logs(struct campaign *campaign, const struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    const char *from = trial_result->logs.bytes;
    if (trial_result->logs.length == 0) {
        return;
    }
    for (uint32_t host = 0; host < JOB_LOG_COUNT && !campaign->is_failed; host++) {
        char path[FILE_PATH_BYTES];
        const char *directory = campaign->repro_store.directory;
        const int used = host == JOB_LOG_LAUNCHER
                             ? snprintf(path, sizeof path, "%s/logs/launcher.log", directory)
                             : snprintf(path, sizeof path, "%s/logs/host-%" PRIu32 ".log",
                                        directory, host);
        if (used >= (int)sizeof path) {
            (void)message_fail(EXIT_HARNESS, "%.3800s: the path is too long", directory);
            campaign_note_failure(campaign);
        } else if (head->log_bytes[host] == 0) {
            (void)unlink(path); /* of an earlier run, with more hosts */
        } else if (!write_log(path, from, head->log_bytes[host])) {
            campaign_note_failure(campaign);
        }
        from += head->log_bytes[host];
    }
}
