/* Events as a table: one row each, for spreadsheets and scripts. */
#include "formats/export/export.h"

#include <inttypes.h>

static bool begin_csv(struct export *export)
{
    (void)fputs(EXPORT_CSV_HEADER "\n", export->stream);
    return true;
}

static void put_csv_event(struct export *export, const struct export_event *event)
{
    char tag[SETUP_NAME_BYTES];
    char address[24] = "";
    if (event->action != EXPORT_FAILED) {
        snprintf(address, sizeof address, "%" PRIu64, event->address);
    }
    /* Names have neither quotes nor line breaks: setup_set_tag sees to it. */
    fprintf(export->stream,
            "%" PRIu32 ",%s,%s,%" PRIu64 ",%" PRIu64 ",%u,%u,\"%s\",%" PRIu64 ",%" PRIu64 "\n",
            event->op, export_action_name(event->action), address, event->size_bytes,
            event->requested_bytes, event->lane, event->host,
            export_tag(export->setup, event->tag, tag), event->in_use_bytes,
            event->largest_hole_bytes);
}

const struct exporter exporter_csv = {
    .name = "csv",
    .suffix = ".csv",
    .summary = "what happened to each block, one event per row",
    .begin = begin_csv,
    .event = put_csv_event,
};
