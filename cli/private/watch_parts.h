/* Memory over time as its parts share it.  Only watch.c and its parts include it: watch_campaign.c.
 */
#ifndef CLI_PRIVATE_WATCH_PARTS_H
#define CLI_PRIVATE_WATCH_PARTS_H

#include "campaign/engine/output.h"
#include "cli/arguments.h"
#include "present/memory_chart.h"

struct watching {
    const struct arguments *arguments; /* words[0]: what is watched */
    struct memory_chart chart;
    struct output output;
    struct writing text;
    size_t lines_drawn, line_count_max; /* on a terminal */
    bool is_alarmed;                    /* of what was shown last */
};

/* Shows count devices: on a terminal over what was shown before, else below it. */
void watching_show(struct watching *watching, const struct memory_device *devices, size_t count);

/* A directory; with --follow until the campaign ends, or ctrl-C. */
enum exit_code watching_campaign(struct watching *watching);

#endif
