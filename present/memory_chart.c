#include "present/memory_chart.h"

#include "harness/base/json.h"
#include "present/screen.h"

#include <inttypes.h>
#include <string.h>

enum { BAR_WIDTH = 20, SPARK_BYTES = MEMORY_TRACK_POINT_COUNT_MAX * 4 };

struct unit {
    uint64_t bytes;
    const char *name;
};

static struct unit choose_unit(uint64_t whole_bytes)
{
    static const struct unit units[] = {
        {(uint64_t)1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (whole_bytes >= units[i].bytes) {
            return units[i];
        }
    }
    return (struct unit){1, "B"};
}

void memory_print(uint64_t bytes, uint64_t whole_bytes, char text[MEMORY_TEXT_BYTES])
{
    const struct unit unit = choose_unit(whole_bytes);
    const __uint128_t hundredths = ((__uint128_t)bytes * 100 + unit.bytes / 2) / unit.bytes;
    snprintf(text, MEMORY_TEXT_BYTES, "%" PRIu64 ".%02u %s", (uint64_t)(hundredths / 100),
             (unsigned)(hundredths % 100), unit.name);
}

bool memory_is_alarming(const struct memory_track *track, unsigned alarm_percent)
{
    return alarm_percent > 0 && memory_share(&track->fullest) >= alarm_percent * UINT64_C(100);
}

static void print_bar(const struct memory_point *point, char bar[BAR_WIDTH + 1])
{
    const uint64_t share = memory_share(point);
    const uint64_t filled = share >= 10000 ? BAR_WIDTH : (share * BAR_WIDTH + 9999) / 10000;
    memset(bar, '-', BAR_WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[BAR_WIDTH] = '\0';
}

/* Each point in eighths of its device. */
static void print_spark(const struct memory_track *track, char spark[SPARK_BYTES])
{
    static const char *const eighths[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t length = 0;
    for (uint64_t i = 0; i < track->point_count; i++) {
        const uint64_t eighth = memory_share(&track->points[i]) * 8 / 10001;
        length += (size_t)snprintf(spark + length, SPARK_BYTES - length, "%s",
                                   eighths[eighth > 7 ? 7 : eighth]);
    }
}

static bool find_trend(const struct memory_device *device, int64_t *trend)
{
    if (!memory_trend(device->track, trend)) {
        return false;
    }
    *trend = device->bytes_per_1000_ops != NULL ? *device->bytes_per_1000_ops : *trend;
    return true;
}

static void print_trend(const struct memory_device *device, char text[MEMORY_TEXT_BYTES + 24])
{
    char amount[MEMORY_TEXT_BYTES];
    int64_t trend;
    if (!find_trend(device, &trend)) {
        snprintf(text, MEMORY_TEXT_BYTES + 24, "no trend");
        return;
    }
    if (trend == 0) {
        snprintf(text, MEMORY_TEXT_BYTES + 24, "no growth");
        return;
    }
    memory_print((uint64_t)trend, (uint64_t)trend, amount);
    snprintf(text, MEMORY_TEXT_BYTES + 24, "+%s/1000 ops", amount);
}

static void append_cut(const struct memory_chart *chart, const char *string, enum colour colour,
                       struct writing *text)
{
    struct screen_line line = {.text = text, .has_colour = chart->has_colour};
    if (chart->width == 0) {
        writing_append(text, string);
        writing_append(text, "\n");
        return;
    }
    screen_line_begin(&line, chart->width);
    screen_line_append(&line, string, chart->width, colour);
    screen_line_end(&line);
}

static void append_use(const struct memory_device *device, struct writing *line)
{
    const struct memory_track *track = device->track;
    char used[MEMORY_TEXT_BYTES], whole[MEMORY_TEXT_BYTES], peak[MEMORY_TEXT_BYTES],
        bar[BAR_WIDTH + 1];
    memory_print(track->last.used_bytes, track->last.capacity_bytes, used);
    memory_print(track->last.capacity_bytes, track->last.capacity_bytes, whole);
    memory_print(track->peak.used_bytes, track->peak.capacity_bytes, peak);
    print_bar(&track->last, bar);
    writing_append_visible(line, device->name);
    writing_append_format(line,
                          "  %s / %s  [%s] %3" PRIu64 "%%  peak %s (%" PRIu64 "%%) at op %" PRIu64,
                          used, whole, bar, memory_share(&track->last) / 100, peak,
                          memory_share(&track->peak) / 100, track->peak.op_count);
}

static void append_history(const struct memory_device *device, struct writing *line)
{
    char trend[MEMORY_TEXT_BYTES + 24], spark[SPARK_BYTES] = "";
    print_spark(device->track, spark);
    print_trend(device, trend);
    writing_append_format(line, "  %s  %s", spark, trend);
}

static void append_alarm(const struct memory_chart *chart, const struct memory_device *device,
                         struct writing *line)
{
    const struct memory_point *point = &device->track->fullest;
    char used[MEMORY_TEXT_BYTES], whole[MEMORY_TEXT_BYTES];
    memory_print(point->used_bytes, point->capacity_bytes, used);
    memory_print(point->capacity_bytes, point->capacity_bytes, whole);
    writing_append(line, "ALARM  ");
    writing_append_visible(line, device->name);
    writing_append_format(
        line, " used %s of %s (%" PRIu64 "%%, the alarm is at %u%%) at op %" PRIu64, used, whole,
        memory_share(point) / 100, chart->alarm_percent, point->op_count);
}

size_t memory_chart_draw(const struct memory_chart *chart, const struct memory_device *device,
                         struct writing *text)
{
    struct writing line;
    const bool is_alarming = memory_is_alarming(device->track, chart->alarm_percent);
    writing_init(&line);
    writing_append(&line, chart->is_indented ? "  " : "");
    append_use(device, &line);
    append_cut(chart, writing_string(&line), COLOUR_NONE, text);
    writing_clear(&line);
    append_history(device, &line);
    append_cut(chart, writing_string(&line), COLOUR_NONE, text);
    if (is_alarming) {
        writing_clear(&line);
        append_alarm(chart, device, &line);
        append_cut(chart, writing_string(&line), COLOUR_RED, text);
    }
    writing_deinit(&line);
    return is_alarming ? 3 : 2;
}

void memory_chart_json(const struct memory_chart *chart, const struct memory_device *device,
                       struct writing *text)
{
    const struct memory_track *track = device->track;
    int64_t trend;
    json_open(text, "memory");
    json_add_string(text, "name", device->name);
    json_add_number(text, "used_bytes", track->last.used_bytes);
    json_add_number(text, "capacity_bytes", track->last.capacity_bytes);
    json_add_number(text, "op", track->last.op_count);
    json_add_number(text, "peak_bytes", track->peak.used_bytes);
    json_add_number(text, "peak_op", track->peak.op_count);
    if (find_trend(device, &trend)) {
        writing_append_format(text, ",\"trend_bytes_per_1000_ops\":%" PRId64, trend);
    }
    if (chart->alarm_percent > 0) {
        json_add_boolean(text, "alarm", memory_is_alarming(track, chart->alarm_percent));
    }
    json_nest(text, "points", '[');
    for (uint64_t i = 0; i < track->point_count; i++) {
        const struct memory_point *point = &track->points[i];
        writing_append_format(text, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i == 0 ? "" : ",",
                              point->op_count, point->used_bytes, point->capacity_bytes);
    }
    json_unnest(text, ']');
    json_close(text);
}
