/* What each setting of PyTorch's caching allocator would have done to the requests of a trace. */
#include "explain/private/explanation.h"
#include "explain/private/files.h"

#include <inttypes.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* One setting, in PyTorch's words; what it does not set is 0. */
struct setting {
    const char *text; /* of PYTORCH_CUDA_ALLOC_CONF, its key before the ':'; "" = none */
    bool is_expandable;
    uint64_t max_split_mib;
    uint32_t divisions;
    double collection; /* acts only below a limit, which is set to the whole device */
};

/* Values of one key stand together; of equally good ones the first is printed. */
static const struct setting all_settings[] = {
    {.text = ""},
    {.text = "expandable_segments:True", .is_expandable = true},
    {.text = "max_split_size_mb:128", .max_split_mib = 128},
    {.text = "max_split_size_mb:64", .max_split_mib = 64},
    {.text = "max_split_size_mb:256", .max_split_mib = 256},
    {.text = "max_split_size_mb:512", .max_split_mib = 512},
    {.text = "garbage_collection_threshold:0.8", .collection = 0.8},
    {.text = "garbage_collection_threshold:0.6", .collection = 0.6},
    {.text = "roundup_power2_divisions:4", .divisions = 4},
    {.text = "roundup_power2_divisions:8", .divisions = 8},
    {.text = "roundup_power2_divisions:16", .divisions = 16},
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
    struct cache_settings settings;
    if (setting->collection > 0 && capacity_bytes == UINT64_MAX) {
        *outcome = (struct caching_outcome){.is_skipped = true};
        return;
    }
    cache_settings_init(&settings);
    settings.is_expandable |= setting->is_expandable;
    if (setting->max_split_mib > 0) {
        settings.max_split_bytes = setting->max_split_mib * MIB;
    }
    if (setting->collection > 0) {
        settings.garbage_collection_threshold = setting->collection;
        settings.limit_bytes = capacity_bytes;
    }
    for (size_t i = 0; i < CACHE_DIVISIONS_COUNT && setting->divisions > 0; i++) {
        settings.divisions[i] = setting->divisions;
    }
    caching_replay(&explanation->recording->setup, &explanation->recording->ops, &settings,
                   capacity_bytes, outcome);
}

static size_t key_length(const struct setting *setting)
{
    return strcspn(setting->text, ":");
}

/* Whether the file says that it was set, to whatever value. */
static bool is_on(const struct explanation *explanation, const struct setting *setting)
{
    const char *said = explanation->recording->settings;
    return setting->text[0] == '\0'
               ? strcmp(said, "default") == 0
               : memmem(said, strlen(said), setting->text, key_length(setting)) != NULL;
}

/* value_count: of how many values of its key this one was the best. */
static void put_setting(struct explanation *explanation, const struct setting *setting,
                        const struct caching_outcome *outcome, size_t value_count)
{
    struct facts *facts = &explanation->facts;
    const bool was_on = is_on(explanation, setting);
    char best[40] = "";
    facts_open(facts, NULL);
    facts_cell(facts, "setting", setting->text[0] == '\0' ? "none" : setting->text);
    if (outcome->is_skipped) {
        facts_cell(facts, "reserved", "-");
        facts_cell(facts, "unused", "-");
        facts_cell(facts, "ooms", "-");
        facts_cell(facts, "largest", "-");
        facts_cell(facts, "note", "needs --capacity, as it acts near the limit");
    } else {
        if (value_count > 1) {
            snprintf(best, sizeof best, "the best of %zu values", value_count);
        }
        facts_cell_size(facts, "reserved", outcome->reserved_peak_bytes);
        facts_cell_size(facts, "unused", outcome->unused_bytes);
        facts_cell_count(facts, "ooms", outcome->oom_count);
        facts_cell_size(facts, "largest", outcome->largest_served_bytes);
        facts_cell_format(facts, "note", "%s%s%s",
                          was_on ? "so it was when the file was written" : "",
                          was_on && value_count > 1 ? "; " : "", best);
    }
    facts_close(facts);
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
    const size_t length = key_length(&all_settings[first]);
    size_t next = first;
    while (next < SETTING_COUNT && key_length(&all_settings[next]) == length &&
           memcmp(all_settings[next].text, all_settings[first].text, length) == 0) {
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
static void say_best(struct facts *facts, const struct caching_outcome outcomes[SETTING_COUNT])
{
    const size_t best = find_best(outcomes, 0, SETTING_COUNT);
    const char *text = all_settings[best].text;
    const struct caching_outcome *with = &outcomes[best], *without = &outcomes[0];
    if (best == 0) {
        facts_answer(facts, "  None of them would have helped.");
    } else if (with->oom_count < without->oom_count) {
        facts_answer(facts,
                     "  %s would have helped most: %" PRIu64 " fewer requests find no memory.",
                     text, without->oom_count - with->oom_count);
    } else {
        facts_answer(facts, "  %s would have helped most: %s less is reserved.", text,
                     size_text_of(without->reserved_peak_bytes - with->reserved_peak_bytes).text);
    }
}

/* Of each key the best value. */
static void put_table(struct explanation *explanation,
                      const struct caching_outcome outcomes[SETTING_COUNT])
{
    static const struct facts_column columns[] = {{"setting", "PYTORCH_CUDA_ALLOC_CONF"},
                                                  {"reserved", "reserved"},
                                                  {"unused", "unused of it"},
                                                  {"ooms", "out of memory"},
                                                  {"largest", "largest served"},
                                                  {"note", "note"}};
    facts_table_in(&explanation->facts, 2, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < SETTING_COUNT;) {
        const size_t count = count_values(i);
        const size_t best = find_best(outcomes, i, i + count);
        put_setting(explanation, &all_settings[best], &outcomes[best], count);
        i += count;
    }
    facts_table_end(&explanation->facts);
}

static void add_setting(struct explanation *explanation, const struct setting *setting,
                        const struct caching_outcome *outcome)
{
    struct facts *facts = &explanation->facts;
    if (!outcome->is_skipped) {
        facts_open(facts, "setting");
        facts_text(facts, "setting", setting->text);
        facts_size(facts, "reserved_peak_bytes", outcome->reserved_peak_bytes);
        facts_size(facts, "unused_bytes", outcome->unused_bytes);
        facts_count(facts, "ooms", outcome->oom_count);
        facts_size(facts, "largest_served_bytes", outcome->largest_served_bytes);
        facts_boolean(facts, "was_set", is_on(explanation, setting));
        facts_close(facts);
    }
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
    struct facts *facts = &explanation->facts;
    const struct recording *recording = explanation->recording;
    struct caching_outcome outcomes[SETTING_COUNT];
    if (recording->format == format_find("torch_snapshot") && recording->view == IMPORT_MOMENT) {
        facts_heading(facts, "Allocator settings: --format torch_events reads the events of this "
                             "snapshot, and tries each setting on them");
        if (!explanation->options->is_json) {
            return;
        }
    }
    if (strcmp(recording->setup.system, "pytorch") != 0 || !has_frees(&recording->ops) ||
        setup_filler_tag(&recording->setup) != OP_TAG_COUNT) {
        return;
    }
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        replay_setting(explanation, &all_settings[i], &outcomes[i]);
        add_setting(explanation, &all_settings[i], &outcomes[i]);
    }
    facts_heading(facts, "Allocator settings: the same requests, run through a model of PyTorch's "
                         "caching allocator (docs/caching.md)");
    put_table(explanation, outcomes);
    say_best(facts, outcomes);
    if (recording->settings[0] == '\0') {
        facts_answer(facts, "  (The file does not say which of them were set.)");
    }
}
