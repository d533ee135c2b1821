/* Writes each campaign into a directory in the forms that other programs read: NAME.xml (JUnit),
 * NAME.sarif, NAME.commands and NAME.step (GitHub), NAME.gitlab; and the counts that a reader must
 * find in the first as NAME.counts.
 *
 *     report_files DIRECTORY */
#include "present/review.h"
#include "tests/present/report_campaigns.h"

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

struct file_form {
    const char *suffix;
    void (*print)(struct writing *text, const struct report_campaign *campaign);
    enum annotation_form annotation;
};
static const struct file_form forms[] = {
    {".xml", junit_print, ANNOTATION_NONE},
    {".sarif", sarif_print, ANNOTATION_NONE},
    {".commands", review_print_github, ANNOTATION_GITHUB},
    {".step", review_print_step, ANNOTATION_GITHUB},
    {".gitlab", review_print_gitlab, ANNOTATION_GITLAB},
};

static bool write_form(const char *directory, const struct named_campaign *named,
                       const struct file_form *form)
{
    struct report_campaign campaign = named->campaign;
    struct writing text;
    campaign.annotation = form->annotation;
    writing_init(&text);
    form->print(&text, &campaign);
    const bool is_written = write_file(directory, named->name, form->suffix, writing_string(&text));
    writing_deinit(&text);
    return is_written;
}

static bool write_campaign(const char *directory, unsigned number)
{
    const struct named_campaign *campaign = campaign_get(number);
    char counts[128];
    snprintf(counts, sizeof counts, "%u %u %u %u %u\n", campaign->suites, campaign->tests,
             campaign->failures, campaign->errors, campaign->skipped);
    bool is_written = write_file(directory, campaign->name, ".counts", counts);
    for (size_t i = 0; i < sizeof forms / sizeof *forms && is_written; i++) {
        is_written = write_form(directory, campaign, &forms[i]);
    }
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
