#include "checker/private/history.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t capacity_max = UINT64_C(1) << 50, head_granule_max = 1 << 16,
                      reported_max = UINT64_C(1) << 62;

/* --- the head --- */

static bool read_capacity(struct list *list, struct text_word value)
{
    return word_size(value, &list->capacity) && list->capacity > 0 &&
           list->capacity <= capacity_max;
}

static bool read_granule(struct list *list, struct text_word value)
{
    return word_size(value, &list->granule) && list->granule > 0 &&
           list->granule <= head_granule_max && (list->granule & (list->granule - 1)) == 0;
}

static bool read_rounding(struct list *list, struct text_word value)
{
    return rounding_read(value, &list->rounding);
}

static bool read_hosts(struct list *list, struct text_word value)
{
    return word_number(value, HOSTS_MAX, &list->host_count) && list->host_count > 0;
}

static bool read_clocks(struct list *list, struct text_word value)
{
    list->has_clocks = word_is(value, "own");
    return list->has_clocks;
}

static bool read_bound(struct list *list, struct text_word value)
{
    return word_duration(value, &list->collective_bound) && list->collective_bound > 0;
}

static bool read_target(struct list *list, struct text_word value)
{
    list->target = value;
    return value.length > 0;
}

static bool read_option(struct list *list, struct text_word value)
{
    struct list_option option;
    if (list->option_count == OPTIONS_MAX || !word_cut(&value, '=', &option.key) ||
        option.key.length == 0 || value.length == 0) {
        return false;
    }
    option.value = value;
    for (size_t i = 0; i < list->option_count; i++) {
        const struct text_word key = list->options[i].key;
        if (key.length == option.key.length && memcmp(key.text, option.key.text, key.length) == 0) {
            return false;
        }
    }
    list->options[list->option_count++] = option;
    return true;
}

static bool read_number(struct list *list, struct text_word value)
{
    uint64_t number;
    (void)list;
    return word_number(value, UINT64_MAX, &number);
}

static bool read_remark(struct list *list, struct text_word value)
{
    (void)list;
    return value.length > 0;
}

static bool read_races(struct list *list, struct text_word value)
{
    (void)list;
    return word_is(value, "yes");
}

static bool ends_with(struct text_word value, const char *ending)
{
    const size_t length = strlen(ending);
    return value.length >= length &&
           memcmp(value.text + value.length - length, ending, length) == 0;
}

static bool read_tag(struct list *list, struct text_word value)
{
    uint64_t number;
    struct text_word head;
    if (!word_cut(&value, ' ', &head) || !word_number(head, UINT8_MAX, &number) ||
        value.length < 2 || value.text[0] != '"' || value.text[value.length - 1] != '"' ||
        list->has_tag[number]) {
        return false;
    }
    list->has_tag[number] = true;
    list->is_assumed_tag[number] = word_is(value, "\"assumed pinned\"") ||
                                   word_is(value, "\"assumed pinned (placement assumed)\"");
    list->is_placed_tag[number] = ends_with(value, " (placement assumed)\"");
    return true;
}

static bool read_range(struct text_word value, int64_t range[2])
{
    uint64_t low, high;
    struct text_word head;
    if (!word_cut(&value, '-', &head) || !word_number(head, reported_max, &low) ||
        !word_number(value, reported_max, &high) || low > high) {
        return false;
    }
    range[0] = (int64_t)low;
    range[1] = (int64_t)high;
    return true;
}

/* requested=LOW-HIGH free=LOW-HIGH, and perhaps image=BYTES, in this order. */
static bool read_reported(struct list *list, struct text_word value)
{
    struct reported *reported = &list->reported;
    struct text_word field, name;
    uint64_t image;
    (void)word_cut(&value, ' ', &field);
    if (!word_cut(&field, '=', &name) || !word_is(name, "requested") ||
        !read_range(field, reported->requested)) {
        return false;
    }
    const bool has_image = word_cut(&value, ' ', &field);
    if (!word_cut(&field, '=', &name) || !word_is(name, "free") ||
        !read_range(field, reported->free)) {
        return false;
    }
    reported->is_there = true;
    if (!has_image) {
        return true;
    }
    if (!word_cut(&value, '=', &name) || !word_is(name, "image") ||
        !word_number(value, reported_max, &image)) {
        return false;
    }
    reported->image = (int64_t)image;
    return image > 0;
}

static const struct {
    const char *name;
    bool (*read)(struct list *list, struct text_word value);
    bool may_repeat, is_required;
} heads[] = {
    {"scenario", read_remark, false, false},
    {"chip", read_remark, false, false},
    {"system", read_remark, false, false},
    {"capacity", read_capacity, false, true},
    {"granule", read_granule, false, false},
    {"rounding", read_rounding, false, false},
    {"hosts", read_hosts, false, true},
    {"coordinate", read_remark, false, false},
    {"clocks", read_clocks, false, false},
    {"clock", read_remark, true, false},
    {"group", read_remark, true, false},
    {"shares", read_remark, false, false},
    {"collective_bound", read_bound, false, false},
    {"target", read_target, false, true},
    {"option", read_option, true, false},
    {"seed", read_number, false, false},
    {"search_nodes", read_number, false, false},
    {"regret_max", read_number, false, false},
    {"until", read_number, false, false},
    {"check_races", read_races, false, false},
    {"reported", read_reported, false, false},
    {"tag", read_tag, true, false},
};
enum { HEAD_COUNT = sizeof heads / sizeof *heads };

/* heads_read: a bit for each that was there. */
static bool read_head(struct list *list, struct lines *lines, uint32_t *heads_read)
{
    struct text_word value = lines->line, name;
    (void)word_cut(&value, ' ', &name);
    for (size_t i = 0; i < HEAD_COUNT; i++) {
        if (!word_is(name, heads[i].name)) {
            continue;
        }
        if (!heads[i].may_repeat && (*heads_read >> i & 1) != 0) {
            return lines_fail(lines, "%s is given twice", heads[i].name);
        }
        *heads_read |= UINT32_C(1) << i;
        return heads[i].read(list, value) ||
               lines_fail(lines, "the value of %s is wrong", heads[i].name);
    }
    return lines_fail(lines, "this is neither an op nor a line of the head");
}

static bool is_head_whole(struct lines *lines, uint32_t heads_read)
{
    for (size_t i = 0; i < HEAD_COUNT; i++) {
        if (heads[i].is_required && (heads_read >> i & 1) == 0) {
            return lines_fail(lines, "the head has no line %s", heads[i].name);
        }
    }
    return true;
}

/* --- all lines --- */

static bool is_op_line(struct text_word line)
{
    return line.length > 0 && line.text[0] >= '0' && line.text[0] <= '9';
}

/* Neither comments nor empty lines count. */
static bool is_remark(struct text_word line)
{
    return line.length == 0 || line.text[0] == '#';
}

static bool has_control(struct text_word line)
{
    for (size_t i = 0; i < line.length; i++) {
        if ((unsigned char)line.text[i] < ' ' || line.text[i] == 0x7F) {
            return true;
        }
    }
    return false;
}

static bool read_line(struct list *list, struct lines *lines, uint32_t *heads_read)
{
    if (is_remark(lines->line)) {
        return true;
    }
    if (has_control(lines->line)) {
        return lines_fail(lines, "a control character");
    }
    if (!is_op_line(lines->line)) {
        return list->op_count == 0 ? read_head(list, lines, heads_read)
                                   : lines_fail(lines, "this is not an op");
    }
    return (list->op_count > 0 || is_head_whole(lines, *heads_read)) && list_read_op(list, lines);
}

bool list_read(struct list *list, struct lines *lines)
{
    uint32_t heads_read = 0;
    list->collective_bound = UINT64_C(5000000000);
    if (!lines_next(lines) || !word_is(lines->line, "hbmstress-ops 1")) {
        return lines_fail(lines, "the first line is not 'hbmstress-ops 1'");
    }
    while (lines_next(lines)) {
        if (!read_line(list, lines, &heads_read)) {
            return false;
        }
    }
    if (lines->line.length > 0) {
        return lines_fail(lines, "the line is cut off");
    }
    return is_head_whole(lines, heads_read);
}

void list_deinit(struct list *list)
{
    free(list->ops);
}

/* --- what is asked of it --- */

static void hash_line(struct sha256_ctx *hash, const struct list *list, struct text_word line)
{
    struct text_word rest = line, number;
    (void)word_cut(&rest, ' ', &number);
    const bool is_switch = is_op_line(line) && rest.length >= 7 &&
                           memcmp(rest.text, "switch ", 7) == 0;
    if (!is_remark(line) && !(list->has_lanes && is_switch)) {
        sha256_update(hash, line.length + 1, (const uint8_t *)line.text);
    }
}

void list_hash(const struct list *list, size_t op, char hash[HASH_TEXT_BYTES])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx context;
    struct certificate_text text = list->text;
    struct lines lines;
    text.length = list->has_lanes ? text.length : list->ops[op].line_end;
    sha256_init(&context);
    lines_init(&lines, &text, NULL);
    while (lines_next(&lines)) {
        hash_line(&context, list, lines.line);
    }
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        snprintf(hash + 2 * i, 3, "%02x", digest[i]);
    }
}

bool list_has_options(const struct list *list, const json_t *options)
{
    if (json_object_size(options) != list->option_count) {
        return false;
    }
    for (size_t i = 0; i < list->option_count; i++) {
        const struct list_option *option = &list->options[i];
        const json_t *value = json_object_getn(options, option->key.text, option->key.length);
        if (value == NULL || json_string_length(value) != option->value.length ||
            memcmp(json_string_value(value), option->value.text, option->value.length) != 0) {
            return false;
        }
    }
    return true;
}

static bool read_texts(struct certificate_history *history, const struct certificate_text *list,
                       const struct certificate_text *observations,
                       char reason[CERTIFICATE_REASON_BYTES])
{
    struct lines lines;
    history->list.text = *list;
    history->has_log = observations != NULL;
    lines_init(&lines, list, reason);
    if (!list_read(&history->list, &lines)) {
        return false;
    }
    if (observations != NULL) {
        lines_init(&lines, observations, reason);
    }
    return observations == NULL || log_read(&history->log, &history->list, &lines);
}

struct certificate_history *certificate_history_read(const struct certificate_text *list,
                                                     const struct certificate_text *observations,
                                                     char reason[CERTIFICATE_REASON_BYTES])
{
    struct certificate_history *history = calloc(1, sizeof *history);
    if (history == NULL) {
        snprintf(reason, CERTIFICATE_REASON_BYTES, "no memory");
        return NULL;
    }
    if (!read_texts(history, list, observations, reason)) {
        certificate_history_destroy(history);
        return NULL;
    }
    return history;
}

void certificate_history_destroy(struct certificate_history *history)
{
    if (history != NULL) {
        list_deinit(&history->list);
        log_deinit(&history->log);
        free(history);
    }
}
