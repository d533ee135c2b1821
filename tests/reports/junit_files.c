/* Writes the JUnit XML of each campaign into a directory as NAME.xml, and the counts that a reader
 * must find there as NAME.counts.
 *
 *     junit_files DIRECTORY */
#include "reports/junit.h"
#include "tests/reports/report_campaigns.h"

#include <stdio.h>
#include <stdlib.h>

static bool write_file(const char *directory, const char *name, const char *suffix,
                       const char *bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", directory, name, suffix);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    bool is_written = fputs(bytes, file) >= 0;
    return fclose(file) == 0 && is_written;
}

static bool write_campaign(const char *directory, unsigned number)
{
    const struct named_campaign *campaign = campaign_get(number);
    char counts[128];
    snprintf(counts, sizeof counts, "%u %u %u %u %u\n", campaign->suites, campaign->tests,
             campaign->failures, campaign->errors, campaign->skipped);
    struct writing text;
    writing_init(&text);
    junit_print(&text, &campaign->campaign);
    const bool is_written = write_file(directory, campaign->name, ".xml", writing_string(&text)) &&
                            write_file(directory, campaign->name, ".counts", counts);
    writing_deinit(&text);
    return is_written;
}

int main(int argument_count, char **arguments)
{
    if (argument_count != 2) {
        (void)fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
        return 2;
    }
    for (unsigned i = 0; i < NAMED_CAMPAIGN_COUNT; i++) {
        if (!write_campaign(arguments[1], i)) {
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
