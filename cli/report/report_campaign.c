#include "cli/report/campaign_sections.h"
#include "cli/report/report_page.h"
#include "reports/page/page.h"

static void append_sections(struct writing *html, const struct campaign_lines *lines,
                            const struct campaign_lines *before, const struct arguments *arguments)
{
    campaign_head(html, lines);
    if (before != NULL) {
        campaign_against(html, lines, before);
    }
    campaign_findings(html, lines, arguments);
    campaign_ooms(html, lines);
    campaign_memory(html, lines);
    campaign_tables(html, lines);
}

enum exit_code report_campaign(const struct arguments *arguments, struct writing *html)
{
    const char *against = arguments->against;
    struct campaign_lines lines, before = {0};
    enum exit_code code = campaign_lines_read(arguments->words[0], &lines);
    if (code == EXIT_KEPT && against != NULL) {
        code = campaign_lines_read(against, &before);
    }
    if (code == EXIT_KEPT) {
        page_begin(html, arguments->words[0]);
        append_sections(html, &lines, against == NULL ? NULL : &before, arguments);
        page_end(html);
    }
    campaign_lines_deinit(&before);
    campaign_lines_deinit(&lines);
    return code;
}
