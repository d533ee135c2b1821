#include "cli/report/report_page.h"

#include "reports/page/page.h"

enum exit_code report_campaign(const struct arguments *arguments, const char *against,
                               struct writing *html)
{
    (void)against;
    page_begin(html, arguments->words[0]);
    page_end(html);
    return EXIT_KEPT;
}
