/* The model of PyTorch's caching allocator against real traces: the requests of each snapshot are
 * made again, and the model must take and give back the segments that PyTorch did, at the same
 * requests, and put each block where PyTorch put it.  Prints a line for each file;
 * docs/tables/caching-field.tsv has them. */
#include "formats/torch/private/plain.h"
#include "targets/caching/cache.h"
#include "tests/formats/import_rig.h"
#include "tests/formats/plain_json.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA HBMSTRESS_FIELD_DATA "/data/torch_snapshot/"
#define FAKE_ADDRESS (UINT64_C(1) << 60) /* of segments that only the model has */
#define MIB (UINT64_C(1) << 20)

/* A block or a segment as the snapshot has it; those of the start are made from those of the end.
 */
struct piece {
    struct cache_range range;
    uint64_t requested_bytes, stream;
    bool is_small;   /* of a segment */
    bool is_guessed; /* of a block: its size is that of its request, rounded */
};
struct pieces {
    struct piece *piece;
    size_t count, room;
};

struct counts {
    uint64_t allocs, places_equal;           /* blocks at the address of the trace */
    uint64_t segment_events, segments_equal; /* of the trace; of them, those of the model too */
    uint64_t segments_extra;                 /* of the model alone */
    uint64_t ooms, ooms_equal;
    uint64_t guessed;          /* blocks of the start whose size is not known for certain */
    uint64_t ends, ends_equal; /* active blocks of the end, and those that the model has */
};

static struct {
    const json_t *events;
    size_t event_count;
    size_t window, window_end; /* events before the request, of which `window` were met */
    struct cache *cache;
    struct cache_settings settings;
    struct pieces segments, blocks; /* of the end, then of the start */
    struct counts counts;
    uint64_t fake_count;
} replayed;

/* --- the file --- */

static json_t *decode_pickle(const char *path)
{
    size_t length = 0;
    struct plain_tree tree = {0};
    struct plain_value value = plain_make(PLAIN_NOTHING);
    char *bytes = file_bytes(path, &length);
    ck_assert_msg(pickle_read(bytes, length, &tree, &value, &refusal) == IMPORT_OK, "%s",
                  refusal.reason);
    json_t *root = plain_json(&tree, value);
    plain_deinit(&tree);
    free(bytes);
    return root;
}

static uint64_t number_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static bool has_text(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL && strcmp(value, text) == 0;
}

static void add_piece(struct pieces *pieces, const struct piece *piece)
{
    if (pieces->count == pieces->room) {
        pieces->room = pieces->room == 0 ? 256 : pieces->room * 2;
        pieces->piece = realloc(pieces->piece, pieces->room * sizeof *pieces->piece);
        ck_assert_ptr_nonnull(pieces->piece);
    }
    pieces->piece[pieces->count++] = *piece;
}

/* NULL: none begins there. */
static struct piece *find_piece(const struct pieces *pieces, uint64_t address)
{
    for (size_t i = pieces->count; i-- > 0;) {
        if (pieces->piece[i].range.address == address) {
            return &pieces->piece[i];
        }
    }
    return NULL;
}

static void remove_piece(struct pieces *pieces, uint64_t address)
{
    struct piece *piece = find_piece(pieces, address);
    ck_assert_ptr_nonnull(piece);
    *piece = pieces->piece[--pieces->count];
}

static void read_blocks(const json_t *segment)
{
    size_t i = 0;
    const json_t *block = NULL;
    uint64_t address = number_of(segment, "address");
    json_array_foreach(json_object_get(segment, "blocks"), i, block)
    {
        const struct piece piece = {.range = {address, number_of(block, "size")},
                                    .requested_bytes = number_of(block, "requested_size"),
                                    .stream = number_of(segment, "stream")};
        if (!has_text(block, "state", "inactive")) {
            add_piece(&replayed.blocks, &piece);
        }
        address += piece.range.size_bytes;
    }
}

static void read_segments(const json_t *root)
{
    size_t i = 0;
    const json_t *segment = NULL;
    json_array_foreach(json_object_get(root, "segments"), i, segment)
    {
        ck_assert_msg(!json_is_true(json_object_get(segment, "is_expandable")),
                      "expandable segments are not replayed");
        const struct piece piece = {
            .range = {number_of(segment, "address"), number_of(segment, "total_size")},
            .stream = number_of(segment, "stream"),
            .is_small = has_text(segment, "segment_type", "small")};
        add_piece(&replayed.segments, &piece);
        read_blocks(segment);
    }
}

static void read_settings(const json_t *root)
{
    const json_t *settings = json_object_get(root, "allocator_settings");
    const json_t *divisions = json_object_get(settings, "roundup_power2_divisions");
    const json_int_t max_split = json_integer_value(json_object_get(settings, "max_split_size"));
    cache_settings_init(&replayed.settings);
    if (max_split > 0) {
        replayed.settings.max_split_bytes = (uint64_t)max_split;
    }
    for (unsigned i = 0; i < CACHE_DIVISIONS_COUNT; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%u", 1u << i);
        replayed.settings.divisions[i] = (uint32_t)number_of(divisions, key);
    }
}

/* --- the start: the end, with the events undone --- */

static void undo_event(const json_t *event)
{
    const struct piece piece = {.range = {number_of(event, "addr"), number_of(event, "size")},
                                .requested_bytes = number_of(event, "size"),
                                .stream = number_of(event, "stream"),
                                .is_small = number_of(event, "size") ==
                                            replayed.settings.small_segment_bytes,
                                .is_guessed = true};
    if (has_text(event, "action", "alloc")) {
        remove_piece(&replayed.blocks, piece.range.address);
    } else if (has_text(event, "action", "free_completed")) {
        add_piece(&replayed.blocks, &piece);
        struct piece *block = find_piece(&replayed.blocks, piece.range.address);
        block->range.size_bytes = cache_rounded(&replayed.settings, piece.requested_bytes);
    } else if (has_text(event, "action", "segment_alloc")) {
        remove_piece(&replayed.segments, piece.range.address);
    } else if (has_text(event, "action", "segment_free")) {
        add_piece(&replayed.segments, &piece);
    }
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *left = a;
    const struct piece *right = b;
    return (left->range.address > right->range.address) -
           (left->range.address < right->range.address);
}

static void undo_events(void)
{
    for (size_t i = json_array_size(replayed.events); i-- > 0;) {
        undo_event(json_array_get(replayed.events, i));
    }
    struct pieces *const both[] = {&replayed.segments, &replayed.blocks};
    for (size_t i = 0; i < 2; i++) {
        if (both[i]->count > 0) {
            qsort(both[i]->piece, both[i]->count, sizeof *both[i]->piece, compare_pieces);
        }
    }
}

/* In the large pool no free block is as small as what is not split off: a smaller gap belongs to
 * the block before it. */
static uint64_t guessed_bytes(const struct piece *block, const struct piece *segment, uint64_t next)
{
    const uint64_t gap_bytes = next - block->range.address - block->range.size_bytes;
    const bool is_kept = block->is_guessed && !segment->is_small &&
                         gap_bytes <= replayed.settings.kept_remainder_bytes;
    return block->range.size_bytes + (is_kept ? gap_bytes : 0);
}

static void add_view(struct cache_block_view *views, size_t *count, struct cache_range range,
                     uint64_t requested_bytes)
{
    if (range.size_bytes > 0) {
        const enum cache_state state = requested_bytes > 0 ? CACHE_LIVE : CACHE_FREE;
        views[(*count)++] = (struct cache_block_view){range, requested_bytes, state};
    }
}

/* The segment with its blocks, which begin at the first one; returns the first one after it. */
static size_t restore_segment(const struct piece *segment, size_t first)
{
    const struct pieces *blocks = &replayed.blocks;
    const uint64_t end = segment->range.address + segment->range.size_bytes;
    struct cache_block_view *views = malloc((2 * blocks->count + 1) * sizeof *views);
    size_t count = 0;
    uint64_t at = segment->range.address;
    for (; first < blocks->count && blocks->piece[first].range.address < end; first++) {
        const struct piece *block = &blocks->piece[first];
        const bool is_last = first + 1 == blocks->count || block[1].range.address >= end;
        const uint64_t bytes = guessed_bytes(block, segment,
                                             is_last ? end : block[1].range.address);
        ck_assert_uint_ge(block->range.address, at);
        add_view(views, &count, (struct cache_range){at, block->range.address - at}, 0);
        add_view(views, &count, (struct cache_range){block->range.address, bytes},
                 block->requested_bytes);
        at = block->range.address + bytes;
        replayed.counts.guessed += block->is_guessed;
    }
    add_view(views, &count, (struct cache_range){at, end - at}, 0);
    const struct cache_segment_view view = {
        .range = segment->range, .stream = segment->stream, .is_small = segment->is_small};
    ck_assert(cache_restore(replayed.cache, &view, views, count));
    free(views);
    return first;
}

static void restore_start(void)
{
    size_t first = 0;
    for (size_t i = 0; i < replayed.segments.count; i++) {
        first = restore_segment(&replayed.segments.piece[i], first);
    }
    ck_assert_uint_eq(first, replayed.blocks.count);
    ck_assert(cache_invariants_hold(replayed.cache));
}

/* --- upstream: what the driver answered --- */

/* The next event before the request that the model has not met. */
static const json_t *next_in_window(void)
{
    return replayed.window < replayed.window_end ? json_array_get(replayed.events, replayed.window)
                                                 : NULL;
}

static bool is_event(const json_t *event, const char *action, uint64_t bytes)
{
    return event != NULL && has_text(event, "action", action) && number_of(event, "size") == bytes;
}

/* A release before a segment_alloc shows that the driver refused one. */
static bool take_segment(void *context, uint64_t bytes, uint64_t needed_bytes,
                         struct cache_range *segment)
{
    const json_t *event = next_in_window();
    const json_t *request = json_array_get(replayed.events, replayed.window_end);
    (void)context;
    (void)needed_bytes;
    if (is_event(event, "segment_alloc", bytes)) {
        *segment = (struct cache_range){number_of(event, "addr"), bytes};
        return true;
    }
    if (event != NULL || has_text(request, "action", "oom")) {
        return false;
    }
    *segment = (struct cache_range){FAKE_ADDRESS + replayed.fake_count++ * (UINT64_C(1) << 40),
                                    bytes};
    return true;
}

static void give_segment(void *context, struct cache_range segment)
{
    (void)context;
    (void)segment;
}

static void meet_event(void *context, const struct cache_event *event)
{
    const json_t *expected = next_in_window();
    const char *action = event->kind == CACHE_SEGMENT_ALLOC  ? "segment_alloc"
                         : event->kind == CACHE_SEGMENT_FREE ? "segment_free"
                                                             : NULL;
    (void)context;
    if (action == NULL) {
        return;
    }
    if (is_event(expected, action, event->range.size_bytes) &&
        number_of(expected, "addr") == event->range.address) {
        replayed.counts.segments_equal++;
        replayed.window++;
    } else {
        replayed.counts.segments_extra++;
    }
}

static void *host_alloc(void *context, size_t bytes)
{
    (void)context;
    return malloc(bytes);
}

static void host_free(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

static const struct cache_upstream upstream = {.segment_take = take_segment,
                                               .segment_give = give_segment,
                                               .host_alloc = host_alloc,
                                               .host_free = host_free,
                                               .event = meet_event};

/* --- the replay --- */

/* false: the model put the block elsewhere, and cannot follow the trace any further. */
static bool replay_request(const json_t *event)
{
    struct cache_range block = {0};
    const bool is_oom = has_text(event, "action", "oom");
    const enum cache_result result = cache_malloc(replayed.cache, number_of(event, "size"),
                                                  number_of(event, "stream"), &block);
    replayed.counts.allocs += !is_oom;
    replayed.counts.ooms += is_oom;
    replayed.counts.ooms_equal += is_oom && result == CACHE_NO_MEMORY;
    const bool is_equal = is_oom ? result == CACHE_NO_MEMORY
                                 : result == CACHE_OK && block.address == number_of(event, "addr");
    replayed.counts.places_equal += !is_oom && is_equal;
    return is_equal;
}

static bool replay_event(size_t i)
{
    const json_t *event = json_array_get(replayed.events, i);
    const uint64_t address = number_of(event, "addr");
    const char *action = json_string_value(json_object_get(event, "action"));
    if (strncmp(action, "segment_", 8) == 0) {
        replayed.counts.segment_events++;
        return true;
    }
    replayed.window_end = i;
    bool is_equal = true;
    if (strcmp(action, "alloc") == 0 || strcmp(action, "oom") == 0) {
        is_equal = replay_request(event);
    } else if (next_in_window() != NULL) {
        cache_empty(replayed.cache); /* without a request: empty_cache */
    }
    if (strcmp(action, "free_requested") == 0) {
        is_equal = cache_free(replayed.cache, address, true);
    } else if (strcmp(action, "free_completed") == 0) {
        is_equal = cache_complete(replayed.cache, address);
    }
    replayed.window = i + 1;
    return is_equal;
}

/* How many of the events the model followed. */
static size_t replay_events(void)
{
    size_t i = 0;
    const size_t count = json_array_size(replayed.events);
    while (i < count && replay_event(i)) {
        i++;
    }
    ck_assert(cache_invariants_hold(replayed.cache));
    return i;
}

static void compare_end(const json_t *root)
{
    replayed.blocks.count = 0;
    replayed.segments.count = 0;
    read_segments(root);
    for (size_t i = 0; i < replayed.blocks.count; i++) {
        const struct piece *block = &replayed.blocks.piece[i];
        replayed.counts.ends++;
        replayed.counts.ends_equal += cache_block_bytes(replayed.cache, block->range.address) ==
                                      block->range.size_bytes;
    }
}

/* --- the files --- */

static const struct known {
    const char *file;
    size_t events;
    uint64_t allocs, segment_events, end_blocks;
    uint64_t guessed; /* 0: everything is known */
} files[] = {
    {"OOM_state_only_flexgen_12GB", 1, 0, 0, 460, 0},
    {"cs336_magma27", 5163, 1721, 0, 229, 2},
    {"cs336_silmont_bf16_128", 2811, 937, 0, 137, 0},
    {"cs336_silmont_fp32_128", 2043, 681, 0, 137, 0},
    {"cs336_silmont_small_complete", 97, 36, 9, 10, 0},
    {"cs336_wedsonlin_medium_1024_training_memory_snapshot_83e7", 22331, 7591, 0, 885, 438},
    {"cs336_wedsonlin_medium_128_inference_memory_snapshot_77da", 3840, 1280, 0, 223, 0},
    {"cs336_wedsonlin_medium_128_training_memory_snapshot_0db7", 19136, 6526, 0, 885, 438},
};

static void print_row(const char *file, size_t followed)
{
    const struct counts *counts = &replayed.counts;
    printf("%-58s events %zu of %zu, segment events equal %" PRIu64 " of %" PRIu64 " and %" PRIu64
           " extra, places equal %" PRIu64 " of %" PRIu64 ", ooms %" PRIu64 " of %" PRIu64
           ", end blocks equal %" PRIu64 " of %" PRIu64 ", guessed %" PRIu64 "\n",
           file, followed, json_array_size(replayed.events), counts->segments_equal,
           counts->segment_events, counts->segments_extra, counts->places_equal, counts->allocs,
           counts->ooms_equal, counts->ooms, counts->ends_equal, counts->ends, counts->guessed);
    (void)fflush(stdout);
}

/* false: the file is not there. */
static bool replay_file(const char *file, void (*change)(struct cache_settings *settings),
                        size_t *followed)
{
    char path[512];
    (void)snprintf(path, sizeof path, DATA "%s.pickle.gz", file);
    if (access(path, R_OK) != 0) {
        printf("skipped: no %s\n", path);
        return false;
    }
    json_t *root = decode_pickle(path);
    memset(&replayed, 0, sizeof replayed);
    replayed.events = json_array_get(json_object_get(root, "device_traces"), 0);
    read_settings(root);
    read_segments(root);
    undo_events();
    change(&replayed.settings);
    replayed.cache = cache_create(&replayed.settings, &upstream, CACHE_STRAIGHT);
    ck_assert_ptr_nonnull(replayed.cache);
    restore_start();
    replayed.event_count = json_array_size(replayed.events);
    *followed = replay_events();
    compare_end(root);
    print_row(file, *followed);
    cache_destroy(replayed.cache);
    free(replayed.segments.piece);
    free(replayed.blocks.piece);
    replayed.events = NULL;
    json_decref(root);
    return true;
}

static void change_nothing(struct cache_settings *settings)
{
    (void)settings;
}

static void split_all(struct cache_settings *settings)
{
    settings->kept_remainder_bytes = 0;
}

static void round_up_sizes(struct cache_settings *settings)
{
    for (size_t i = 0; i < CACHE_DIVISIONS_COUNT; i++) {
        settings->divisions[i] = 1 + (i > 0);
    }
}

static void use_large_segments(struct cache_settings *settings)
{
    settings->large_segment_bytes = 40 * MIB;
}

/* Traces with more events are left to the night. */
enum { EVENTS_MAX = 6000 };

EVERY_TEST(.timeout_s = 60, .setup = setup_import, .teardown = teardown_import);

TEST(the_model_takes_the_segments_and_places_of_a_real_trace, .to = sizeof files / sizeof files[0])
{
    const struct known *known = &files[_i];
    const struct counts *counts = &replayed.counts;
    size_t followed = 0;
    if ((known->events > EVENTS_MAX && draws_period() > 1) ||
        !replay_file(known->file, change_nothing, &followed)) {
        return;
    }
    ck_assert_uint_eq(followed, known->events);
    ck_assert_uint_eq(counts->allocs, known->allocs);
    ck_assert_uint_eq(counts->places_equal, known->allocs);
    ck_assert_uint_eq(counts->segment_events, known->segment_events);
    ck_assert_uint_eq(counts->segments_equal, known->segment_events);
    ck_assert_uint_eq(counts->segments_extra, 0);
    ck_assert_uint_eq(counts->ends, known->end_blocks);
    ck_assert_uint_eq(counts->ends_equal, known->end_blocks);
    ck_assert_uint_eq(counts->ooms, 0);
    ck_assert_uint_eq(counts->guessed, known->guessed);
}

/* Each of these makes the model another allocator, and the trace shows it. */
TEST(another_setting_does_not_reproduce_the_trace, .to = 3)
{
    static const struct {
        const char *file;
        void (*change)(struct cache_settings *settings);
        bool is_large;
    } cases[] = {{"cs336_wedsonlin_medium_1024_training_memory_snapshot_83e7", split_all, true},
                 {"cs336_silmont_fp32_128", round_up_sizes, false},
                 {"cs336_silmont_small_complete", use_large_segments, false}};
    size_t followed = 0;
    if (cases[_i].is_large && draws_period() > 1) {
        return;
    }
    if (replay_file(cases[_i].file, cases[_i].change, &followed)) {
        ck_assert_uint_lt(followed, replayed.event_count);
    }
}

/* device,idx,action,addr,size,stream,time_us,device_free, as somebody else's script took it out of
 * the pickle. */
TEST(the_events_are_those_that_were_derived_from_the_file)
{
    if (access(DATA, R_OK) != 0) {
        printf("skipped: no %s\n", DATA);
        return;
    }
    size_t length = 0;
    size_t i = 0;
    char *csv = file_bytes(DATA "cs336_silmont_small_complete.events.csv.gz", &length);
    json_t *root = decode_pickle(DATA "cs336_silmont_small_complete.pickle.gz");
    const json_t *events = json_array_get(json_object_get(root, "device_traces"), 0);
    char *rest = csv;
    (void)strtok_r(rest, "\r\n", &rest);
    for (char *line; (line = strtok_r(NULL, "\r\n", &rest)) != NULL; i++) {
        char expected[256];
        const json_t *event = json_array_get(events, i);
        snprintf(expected, sizeof expected,
                 "0,%zu,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", i,
                 json_string_value(json_object_get(event, "action")), number_of(event, "addr"),
                 number_of(event, "size"), number_of(event, "stream"), number_of(event, "time_us"));
        ck_assert_str_eq(line, expected);
    }
    ck_assert_uint_eq(i, json_array_size(events));
    json_decref(root);
    free(csv);
}
