/* Where nothing failed: the peak, and who holds it; memory over time, and the heap, in words. */
#include "explain/private/explain_parts.h"
#include "harness/base/json.h"
#include "present/memory_chart.h"

#include <inttypes.h>

static void put_peak(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct moment *moment = &explanation->moment;
    json_open(text, "peak");
    json_add_number(text, "op", moment->op);
    step_axis_add(explanation->steps, moment->op, text);
    json_add_number(text, "host", moment->host);
    json_add_number(text, "in_use_bytes", moment->occupancy.in_use_bytes);
    json_add_number(text, "reserved_bytes", moment->occupancy.reserved_bytes);
    json_add_number(text, "capacity_bytes", moment->occupancy.capacity_bytes);
    explain_holders_in_json(explanation);
    json_close(text);
}

/* Of sums there was no op: they are what the device had when they were taken. */
static void append_when(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct moment *moment = &explanation->moment;
    if (explanation->recording->view == IMPORT_SUMS) {
        writing_append(text, run_setup(explanation->run)->host_count > 1 ? " is fullest" : "");
        return;
    }
    writing_append_format(text, " is fullest at op %lu", (unsigned long)moment->op);
    step_axis_append(explanation->steps, moment->op, ", ", text);
}

static void say_peak(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct moment *moment = &explanation->moment;
    const struct occupancy *occupancy = &moment->occupancy;
    const uint64_t retired_bytes = occupancy->retired.bytes; /* no part of the device any more */
    const struct memory_point peak = {.used_bytes = occupancy->in_use_bytes +
                                                    occupancy->reserved_bytes - retired_bytes,
                                      .capacity_bytes = occupancy->capacity_bytes - retired_bytes};
    char device[DEVICE_NAME_BYTES], used[MEMORY_TEXT_BYTES], whole[MEMORY_TEXT_BYTES];
    memory_print(peak.used_bytes, peak.capacity_bytes, used);
    memory_print(peak.capacity_bytes, peak.capacity_bytes, whole);
    writing_append_format(text, "\n%s", explain_device(explanation, moment->host, device));
    append_when(explanation);
    if (run_setup(explanation->run)->host_count > 1) {
        writing_append_format(text, " (host %u of %u)", moment->host,
                              run_setup(explanation->run)->host_count);
    }
    if (explain_capacity_is_assumed(explanation)) {
        writing_append_format(text, ": %s. How much it has is not in the file.\n\n", used);
    } else {
        writing_append_format(text, ": %s of %s (%" PRIu64 " %%)\n\n", used, whole,
                              memory_share(&peak) / 100);
    }
    explain_holders(explanation, "Who holds memory then", moment->op);
}

void explain_peak(struct explanation *explanation)
{
    if (!explanation->moment.is_taken) {
        return;
    }
    explanation->occupancy = explanation->moment.occupancy;
    if (explanation->is_json) {
        put_peak(explanation);
    } else {
        say_peak(explanation);
    }
}

/* One device over time; true: the alarm is reached. */
static bool append_curve(struct explanation *explanation, const struct survey_curves *curves,
                         uint32_t host)
{
    const struct memory_chart chart = {
        .alarm_percent = (unsigned)explanation->options->alarm_percent, .is_indented = true};
    char name[DEVICE_NAME_BYTES];
    struct list_growth growth;
    list_growth_find(&curves->uses[host], explanation->steps, &growth);
    const int64_t slope = list_growth_per_1000_ops(&growth);
    const struct memory_device device = {device_name(explanation->recording, host, name),
                                         &curves->tracks[host], &slope};
    if (explanation->is_json) {
        memory_chart_json(&chart, &device, &explanation->text);
    } else {
        (void)memory_chart_draw(&chart, &device, &explanation->text);
    }
    return chart.alarm_percent > 0 && memory_is_alarming(device.track, chart.alarm_percent);
}

/* Of the host that is explained, until then; with --timeline of each, over the whole run. */
static void append_curves(struct explanation *explanation)
{
    const bool has_all = explanation->options->has_timeline;
    const struct survey_curves *curves = has_all ? explanation->survey->curves
                                                 : explanation->curves;
    if (!explanation->is_json) {
        writing_append(&explanation->text, "\nMemory over time\n");
    }
    for (uint32_t host = 0; host < OP_HOST_COUNT_MAX; host++) {
        if (curves->tracks[host].point_count > 0 && (has_all || host == explanation->moment.host) &&
            append_curve(explanation, curves, host)) {
            explanation->is_alarmed = true;
        }
    }
}

void explain_pictures(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct moment *moment = &explanation->moment;
    const enum import_view view = explanation->recording->view;
    const bool has_track = explanation->curves->tracks[moment->host].point_count > 0;
    if (explanation->options->has_timeline ||
        (!explanation->is_json && moment->is_taken && view == IMPORT_EVENTS && has_track)) {
        append_curves(explanation);
    }
    if (explanation->is_json || !moment->is_taken || view == IMPORT_SUMS || !has_track) {
        return;
    }
    if (moment->heap.has_places) {
        writing_append_format(text, "\nThe heap at op %lu, from address 0 to the end\n  [",
                              (unsigned long)moment->op);
        heap_map_append(&moment->heap, text);
        writing_append(text, "]\n  " HEAP_MAP_LEGEND "\n");
    }
}
