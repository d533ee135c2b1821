#include "cli/report/report_page.h"

#include "reports/page/page.h"

#include <stdio.h>

enum exit_code report_list(const struct arguments *arguments, const char *against,
                           struct writing *html)
{
    (void)against;
    page_begin(html, arguments->words[0]);
    page_end(html);
    return EXIT_KEPT;
}

bool report_run_data(const struct arguments *arguments, const char *path, struct writing *json,
                     char why[REPORT_WHY_BYTES])
{
    (void)arguments;
    (void)path;
    (void)json;
    snprintf(why, REPORT_WHY_BYTES, "not there yet");
    return false;
}
