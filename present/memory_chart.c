#include "present/memory_chart.h"

#include "harness/base/json.h"
#include "present/say.h"
#include "present/screen.h"

#include <inttypes.h>
#include <string.h>

enum { BAR_WIDTH = 20 };

void memory_print(uint64_t bytes, uint64_t whole_bytes, char text[MEMORY_TEXT_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    unsigned unit = 3;
    while (unit > 0 && whole_bytes >> (10 * unit) == 0) {
        unit--;
    }
    const uint64_t unit_bytes = UINT64_C(1) << (10 * unit);
    const __uint128_t hundredths = ((__uint128_t)bytes * 100 + unit_bytes / 2) / unit_bytes;
    snprintf(text, MEMORY_TEXT_BYTES, "%" PRIu64 ".%02u %s", (uint64_t)(hundredths / 100),
             (unsigned)(hundredths % 100), units[unit]);
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

static bool find_trend(const struct memory_device *device, int64_t *trend)
{
    if (!memory_trend(device->track, trend)) {
        return false;
    }
    *trend = device->bytes_per_1000_ops != NULL ? *device->bytes_per_1000_ops : *trend;
    return true;
}

static void append_cut(const struct memory_chart *chart, const char *string, enum colour colour,
                       struct writing *text)
{
    struct screen_line line = {.text = text, .has_colour = chart->has_colour};
    if (chart->width == 0) {
        writing_append_format(text, "%s\n", string);
        return;
    }
    screen_line_begin(&line, chart->width);
    screen_line_append(&line, string, chart->width, colour);
    screen_line_end(&line);
}

static void append_use(const struct memory_device *device, struct writing *line)
{
    const struct memory_track *track = device->track;
    const struct memory_point *last = &track->last, *top = &track->peak;
    char used[MEMORY_TEXT_BYTES], whole[MEMORY_TEXT_BYTES], peak[MEMORY_TEXT_BYTES],
        bar[BAR_WIDTH + 1];
    memory_print(last->used_bytes, last->capacity_bytes, used);
    memory_print(last->capacity_bytes, last->capacity_bytes, whole);
    memory_print(top->used_bytes, top->capacity_bytes, peak);
    print_bar(last, bar);
    say(line, "%s  %s / %s  [%s] ", device->name, used, whole, bar);
    writing_append_format(line, "%3" PRIu64 "%%  peak %s (%" PRIu64 "%%) at op %" PRIu64,
                          memory_share(last) / 100, peak, memory_share(top) / 100, top->op_count);
}

/* Each point in eighths of its device, and the trend. */
static void append_history(const struct memory_device *device, struct writing *line)
{
    static const char *const eighths[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const struct memory_track *track = device->track;
    char amount[MEMORY_TEXT_BYTES];
    int64_t trend;
    writing_append(line, "  ");
    for (uint64_t i = 0; i < track->point_count; i++) {
        const uint64_t eighth = memory_share(&track->points[i]) * 8 / 10001;
        writing_append(line, eighths[eighth > 7 ? 7 : eighth]);
    }
    if (!find_trend(device, &trend)) {
        writing_append(line, "  no trend");
    } else if (trend == 0) {
        writing_append(line, "  no growth");
    } else {
        memory_print((uint64_t)trend, (uint64_t)trend, amount);
        writing_append_format(line, "  +%s/1000 ops", amount);
    }
}

static void append_alarm(const struct memory_chart *chart, const struct memory_device *device,
                         struct writing *line)
{
    const struct memory_point *point = &device->track->fullest;
    char used[MEMORY_TEXT_BYTES], whole[MEMORY_TEXT_BYTES];
    memory_print(point->used_bytes, point->capacity_bytes, used);
    memory_print(point->capacity_bytes, point->capacity_bytes, whole);
    say(line, "ALARM  %s used %s of %s (%" PRIu64 "%%, the alarm is at %u%%) at op %" PRIu64,
        device->name, used, whole, memory_share(point) / 100, chart->alarm_percent,
        point->op_count);
}

size_t memory_chart_draw(const struct memory_chart *chart, const struct memory_device *device,
                         struct writing *text)
{
    struct writing line = {0};
    const bool is_alarming = memory_is_alarming(device->track, chart->alarm_percent);
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
    say_json(text,
             "name:%s used_bytes:%" PRIu64 " capacity_bytes:%" PRIu64 " op:%" PRIu64
             " peak_bytes:%" PRIu64 " peak_op:%" PRIu64,
             device->name, track->last.used_bytes, track->last.capacity_bytes, track->last.op_count,
             track->peak.used_bytes, track->peak.op_count);
    if (find_trend(device, &trend)) {
        writing_append_format(text, ",\"trend_bytes_per_1000_ops\":%" PRId64, trend);
    }
    if (chart->alarm_percent > 0) {
        json_add_boolean(text, "alarm", memory_is_alarming(track, chart->alarm_percent));
    }
    json_nest(text, "points", '[');
    for (uint64_t i = 0; i < track->point_count; i++) {
        const struct memory_point *point = &track->points[i];
        say_json(text, "[%" PRIu64 " %" PRIu64 " %" PRIu64 "]", point->op_count, point->used_bytes,
                 point->capacity_bytes);
    }
    say_json(text, "]");
    json_close(text);
}
