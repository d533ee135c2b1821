/* What each setting of PyTorch's caching allocator would have done to the requests of a trace. */
#include "explain/caching_replay.h"
#include "explain/private/explain_parts.h"
#include "harness/base/json.h"
#include "harness/base/size.h"
#include "present/table.h"

#include <inttypes.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* One setting, in PyTorch's words. */
struct setting {
    const char *text; /* of PYTORCH_CUDA_ALLOC_CONF; "" = none */
    const char *key;  /* before the ':' */
    void (*set)(struct cache_settings *settings, double value, uint64_t capacity_bytes);
    double value;
    bool needs_capacity;
};

static void set_expandable(struct cache_settings *settings, double value, uint64_t capacity_bytes)
{
    (void)value;
    (void)capacity_bytes;
    settings->is_expandable = true;
}

static void set_max_split(struct cache_settings *settings, double value, uint64_t capacity_bytes)
{
    (void)capacity_bytes;
    settings->max_split_bytes = (uint64_t)value * MIB;
}

/* It acts only below a limit, which is set to the whole device. */
static void set_collection(struct cache_settings *settings, double value, uint64_t capacity_bytes)
{
    settings->garbage_collection_threshold = value;
    settings->limit_bytes = capacity_bytes;
}

static void set_divisions(struct cache_settings *settings, double value, uint64_t capacity_bytes)
{
    (void)capacity_bytes;
    for (size_t i = 0; i < CACHE_DIVISIONS_COUNT; i++) {
        settings->divisions[i] = (uint32_t)value;
    }
}

/* Values of one key stand together; of equally good ones the first is printed. */
static const struct setting all_settings[] = {
    {"", "", NULL, 0, false},
    {"expandable_segments:True", "expandable_segments", set_expandable, 1, false},
    {"max_split_size_mb:128", "max_split_size_mb", set_max_split, 128, false},
    {"max_split_size_mb:64", "max_split_size_mb", set_max_split, 64, false},
    {"max_split_size_mb:256", "max_split_size_mb", set_max_split, 256, false},
    {"max_split_size_mb:512", "max_split_size_mb", set_max_split, 512, false},
    {"garbage_collection_threshold:0.8", "garbage_collection_threshold", set_collection, 0.8, true},
    {"garbage_collection_threshold:0.6", "garbage_collection_threshold", set_collection, 0.6, true},
    {"roundup_power2_divisions:4", "roundup_power2_divisions", set_divisions, 4, false},
    {"roundup_power2_divisions:8", "roundup_power2_divisions", set_divisions, 8, false},
    {"roundup_power2_divisions:16", "roundup_power2_divisions", set_divisions, 16, false},
};
enum { SETTING_COUNT = sizeof all_settings / sizeof *all_settings };

/* Where the capacity is no fact, the device is unlimited: then only what is reserved counts. */
static uint64_t find_capacity(const struct explanation *explanation)
{
    const bool is_assumed = explain_capacity_is_assumed(explanation);
    return is_assumed ? UINT64_MAX : run_setup(explanation->run)->capacity_bytes;
}

static void replay_setting(const struct explanation *explanation, const struct setting *setting,
                           struct caching_outcome *outcome)
{
    const uint64_t capacity_bytes = find_capacity(explanation);
    if (setting->needs_capacity && capacity_bytes == UINT64_MAX) {
        *outcome = (struct caching_outcome){.is_skipped = true};
        return;
    }
    struct cache_settings settings;
    cache_settings_init(&settings);
    if (setting->set != NULL) {
        setting->set(&settings, setting->value, capacity_bytes);
    }
    caching_replay(&explanation->recording->setup, &explanation->recording->ops, &settings,
                   capacity_bytes, outcome);
}

/* Whether the file says that it was set, to whatever value. */
static bool is_on(const struct explanation *explanation, const struct setting *setting)
{
    const char *said = explanation->recording->settings;
    return setting->key[0] == '\0' ? strcmp(said, "default") == 0
                                   : strstr(said, setting->key) != NULL;
}

/* value_count: of how many values of its key this one was the best. */
static void put_note(const struct explanation *explanation, const struct setting *setting,
                     size_t value_count, struct table *table)
{
    struct writing note;
    writing_init(&note);
    if (is_on(explanation, setting)) {
        writing_append(&note, "so it was when the file was written");
    }
    if (value_count > 1) {
        writing_append_format(&note, "%sthe best of %zu values", note.length > 0 ? "; " : "",
                              value_count);
    }
    table_put(table, writing_string(&note));
    writing_deinit(&note);
}

static void put_setting(const struct explanation *explanation, const struct setting *setting,
                        const struct caching_outcome *outcome, size_t value_count,
                        struct table *table)
{
    char size[SIZE_TEXT_BYTES];
    table_put(table, setting->text[0] == '\0' ? "none" : setting->text);
    if (outcome->is_skipped) {
        table_put(table, "-");
        table_put(table, "-");
        table_put(table, "-");
        table_put(table, "-");
        table_put(table, "needs --capacity, as it acts near the limit");
        return;
    }
    size_print_field(outcome->reserved_peak_bytes, size);
    table_put(table, size);
    size_print_field(outcome->unused_bytes, size);
    table_put(table, size);
    table_put_number(table, outcome->oom_count);
    size_print_field(outcome->largest_served_bytes, size);
    table_put(table, size);
    put_note(explanation, setting, value_count, table);
}

/* Whether a would have been better than b: fewer requests refused, or none and less reserved. */
static bool is_better(const struct caching_outcome *a, const struct caching_outcome *b)
{
    if (a->is_skipped || a->oom_count != b->oom_count) {
        return !a->is_skipped && a->oom_count < b->oom_count;
    }
    return a->oom_count == 0 && a->reserved_peak_bytes < b->reserved_peak_bytes;
}

/* How many values of its key there are, from its first one. */
static size_t count_values(size_t first)
{
    size_t next = first;
    while (next < SETTING_COUNT && strcmp(all_settings[next].key, all_settings[first].key) == 0) {
        next++;
    }
    return next - first;
}

/* Of [from, to), the first of equals. */
static size_t find_best(const struct caching_outcome outcomes[SETTING_COUNT], size_t from,
                        size_t to)
{
    size_t best = from;
    for (size_t i = from + 1; i < to; i++) {
        best = is_better(&outcomes[i], &outcomes[best]) ? i : best;
    }
    return best;
}

/* Which of them would have helped. */
static void append_best(const struct caching_outcome outcomes[SETTING_COUNT], struct writing *text)
{
    const size_t best = find_best(outcomes, 0, SETTING_COUNT);
    if (best == 0) {
        writing_append(text, "  None of them would have helped.\n");
        return;
    }
    char size[SIZE_TEXT_BYTES];
    const uint64_t bytes = outcomes[0].reserved_peak_bytes;
    writing_append_format(text, "  %s would have helped most", all_settings[best].text);
    if (outcomes[best].oom_count < outcomes[0].oom_count) {
        writing_append_format(text, ": %" PRIu64 " fewer requests find no memory",
                              outcomes[0].oom_count - outcomes[best].oom_count);
    } else {
        size_print_field(bytes - outcomes[best].reserved_peak_bytes, size);
        writing_append_format(text, ": %s less is reserved", size);
    }
    writing_append(text, ".\n");
}

static void append_table(struct explanation *explanation)
{
    static const char *const heads[] = {"PYTORCH_CUDA_ALLOC_CONF", "reserved",       "unused of it",
                                        "out of memory",           "largest served", "note"};
    enum { HEAD_COUNT = sizeof heads / sizeof *heads };
    struct caching_outcome outcomes[SETTING_COUNT];
    struct table table;
    table_init(&table, HEAD_COUNT, HEAD_COUNT);
    for (size_t i = 0; i < HEAD_COUNT; i++) {
        table_put(&table, heads[i]);
    }
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        replay_setting(explanation, &all_settings[i], &outcomes[i]);
    }
    for (size_t i = 0; i < SETTING_COUNT;) {
        const size_t count = count_values(i);
        const size_t best = find_best(outcomes, i, i + count);
        put_setting(explanation, &all_settings[best], &outcomes[best], count, &table);
        i += count;
    }
    writing_append(&explanation->text,
                   "\nAllocator settings: the same requests, run through a model of PyTorch's "
                   "caching allocator (docs/caching.md)\n");
    table_print(&table, 2, &explanation->text);
    table_deinit(&table);
    append_best(outcomes, &explanation->text);
    if (explanation->recording->settings[0] == '\0') {
        writing_append(&explanation->text, "  (The file does not say which of them were set.)\n");
    }
}

static void append_json(struct explanation *explanation, const struct setting *setting)
{
    struct writing *text = &explanation->text;
    struct caching_outcome outcome;
    replay_setting(explanation, setting, &outcome);
    if (outcome.is_skipped) {
        return;
    }
    json_open(text, "setting");
    json_add_string(text, "setting", setting->text);
    json_add_number(text, "reserved_peak_bytes", outcome.reserved_peak_bytes);
    json_add_number(text, "unused_bytes", outcome.unused_bytes);
    json_add_number(text, "ooms", outcome.oom_count);
    json_add_number(text, "largest_served_bytes", outcome.largest_served_bytes);
    json_add_boolean(text, "was_set", is_on(explanation, setting));
    json_close(text);
}

/* A single state of the memory has no requests to make again. */
static bool has_frees(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].kind == OP_FREE || ops->ops[i].kind == OP_FREE_AFTER) {
            return true;
        }
    }
    return false;
}

void explain_settings(struct explanation *explanation)
{
    const struct recording *recording = explanation->recording;
    if (recording->format == format_find("torch_snapshot") && recording->view == IMPORT_MOMENT &&
        !explanation->is_json) {
        writing_append(
            &explanation->text,
            "\nAllocator settings: --format torch_events reads the events of this snapshot, "
            "and tries each setting on them\n");
        return;
    }
    if (strcmp(recording->setup.system, "pytorch") != 0 || !has_frees(&recording->ops) ||
        setup_filler_tag(&recording->setup) != OP_TAG_COUNT) {
        return;
    }
    if (!explanation->is_json) {
        append_table(explanation);
        return;
    }
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        append_json(explanation, &all_settings[i]);
    }
}
