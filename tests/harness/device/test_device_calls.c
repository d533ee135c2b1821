/* What the simulated device answers, call by call: the files *.calls beside this one.
 *
 * A test is a title and lines, each a call or a question with its answer:
 *
 *     test a_late_event_is_awaited_to_its_new_time
 *       event 1 100
 *       arm event_late 1 50
 *       wait 1 -> ok
 *       now -> 150
 *
 * The table below has the words.  Lines before the first test are said before each of the file. */
#include "harness/device/collectives.h"
#include "harness/device/device.h"
#include "harness/device/timeline.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ARGUMENT_MAX = 4, LINE_MAX = 1024, TEST_MAX = 128, LINE_BYTES = 128 };

static const char *const file_names[] = {"device", "device_faults", "device_regions"};
static struct line {
    int file, number;
    bool is_inside;
    char text[LINE_BYTES];
} lines[LINE_MAX];
static int line_count, tests[TEST_MAX], test_count;
static const struct line *here;

/* Two hosts have one time. */
static struct timeline *timeline;
static struct collectives *collectives;
static struct device *device;
static const struct device_services *calls;
static void *context;
static uint64_t stage; /* the last one */

#define expect(condition, ...)                                                           \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            char message[512];                                                           \
            (void)snprintf(message, sizeof message, __VA_ARGS__);                        \
            ck_abort_msg("tests/harness/device/%s.calls:%d: %s", file_names[here->file], \
                         here->number, message);                                         \
        }                                                                                \
    } while (false)

/* --- what a word does --- */

static void use_device(uint64_t capacity)
{
    static struct setup setup;
    timeline = timeline_create();
    setup_init(&setup);
    setup.host_count = 2;
    collectives = collectives_create(&setup, (struct timeline *[]){timeline, timeline});
    device = device_create(capacity, timeline);
    calls = device_services(device);
    context = calls->context;
    device_begin_op(device, 1000);
}

static void leave_device(void)
{
    device_destroy(device);
    timeline_destroy(timeline);
    collectives_destroy(collectives);
}

static enum device_result take_host_memory(void)
{
    void *memory = calls->host_alloc(context, 8);
    if (memory != NULL) {
        ck_assert_uint_eq(device_host_bytes(device), 8);
        calls->host_free(context, memory, 8);
    }
    ck_assert_uint_eq(device_host_bytes(device), 0);
    return memory == NULL ? DEVICE_REFUSED : DEVICE_OK;
}

static bool owner_is_program(const void *unused, uint64_t program, uint32_t *owner)
{
    (void)unused;
    *owner = (uint32_t)program;
    return program < 3;
}

static void wait_nowhere(void *unused, uint64_t event)
{
    (void)unused;
    (void)event;
}

static void look_nowhere(void *unused)
{
    (void)unused;
}

static void give_nothing(void *unused, const void *memory, size_t bytes)
{
    (void)unused;
    (void)memory;
    (void)bytes;
}

static const struct device_images images = {owner_is_program, NULL};
static const struct device_waiter waiter = {NULL, wait_nowhere, look_nowhere, give_nothing};

static struct device_region place;
static uint64_t wrong;
static size_t count;

/* A refusal leaves the region as it was. */
static enum device_result take_region(uint64_t bytes)
{
    place = (struct device_region){1, 2};
    const enum device_result result = calls->region_take(context, bytes, &place);
    ck_assert(result == DEVICE_OK || (place.address == 1 && place.size_bytes == 2));
    return result;
}

/* What completed, in order, as digits: 213 is 2, then 1, then 3. */
static uint64_t list_completed(void)
{
    uint64_t digits = 0;
    for (uint64_t i = 0; i < timeline_completed_count(timeline); i++) {
        digits = digits * 10 + timeline_completed_at(timeline, i);
    }
    return digits;
}

/* clang-format off */
/* WORD(name, how the answer is said, what it is): a[] are the arguments. */
#define WORDS                                                                                      \
    WORD(copy, RESULT, calls->copy(context, a[0], a[1], a[2])) /* FROM TO BYTES */                 \
    WORD(out, RESULT, calls->stage_out(context, a[0], a[1], &stage)) /* FROM BYTES */              \
    WORD(in, RESULT, calls->stage_in(context, stage, a[0])) /* TO, the last stage */               \
    WORD(stage_copy, RESULT, calls->stage_copy(context, stage, a[0]))                              \
    WORD(drop, NOTHING, (calls->stage_drop(context, stage), 0))                                    \
    WORD(map, RESULT, calls->map(context, a[0], a[1]))                                             \
    WORD(has_stage, WHETHER, stage != 0)                                                           \
    WORD(unmap, NOTHING, (calls->unmap(context, a[0], a[1]), 0))                                   \
    WORD(unload, RESULT, calls->unload(context, a[0]))                                             \
    WORD(host, RESULT, take_host_memory())                                                         \
    WORD(wait, RESULT, calls->event_wait(context, a[0]))                                           \
    WORD(is_done, WHETHER, calls->event_done(context, a[0]))                                       \
    WORD(count, NUMBER, calls->completed_count(context))                                           \
    WORD(clock, NUMBER, calls->clock_ns(context))                                                  \
    /* What the harness does. */                                                                   \
    WORD(stamp, NOTHING, (device_stamp(device, a[0], a[1], (uint32_t)a[2]), 0)) /* ADDRESS BYTES OWNER */ \
    WORD(scrub, NOTHING, (device_scrub(device, (uint32_t)a[0]), 0))                                \
    WORD(settle, NOTHING, (device_settle(device), 0))                                              \
    WORD(begin_op, NOTHING, (device_begin_op(device, a[0]), 0))                                    \
    WORD(end_op, NOTHING, (device_end_op(device), 0))                                              \
    WORD(resumes, NOTHING, (device_set_resumes(device, a[0] == 1), 0))                             \
    WORD(images, NOTHING, (device_set_images(device, &images), 0)) /* of programs 0 to 2 */        \
    WORD(others_pass_time, NOTHING, (device_set_waiter(device, &waiter), 0))                       \
    WORD(arm, NOTHING, (device_arm(device, &(struct device_fault){(enum fault_kind)a[0], a[1], a[2], a[3] == 1}), 0)) \
    WORD(disarm_all, NOTHING, (device_disarm_all(device), 0))                                      \
    WORD(event, NOTHING, (timeline_add(timeline, a[0], a[1]), 0)) /* EVENT DELAY */                \
    WORD(enqueue, NOTHING, (timeline_enqueue(timeline, a[0], (uint32_t)a[1], a[2]), 0)) /* EVENT STREAM DELAY */ \
    WORD(postpone, NOTHING, (timeline_postpone(timeline, a[0], a[1]), 0)) /* EVENT DELAY */       \
    WORD(start, NOTHING, (timeline_start(timeline, a[0], a[1]), 0)) /* EVENT DELAY */              \
    WORD(start_at, NOTHING, (timeline_start_at(timeline, a[0], a[1]), 0)) /* EVENT TIME */         \
    WORD(cancel, NOTHING, (timeline_cancel(timeline, a[0]), 0))                                    \
    WORD(stream, NUMBER, timeline_stream(timeline, a[0]))                                          \
    WORD(join, NOTHING, (collectives_join(collectives, a[0], (uint16_t)a[1], (uint32_t)a[2], a[3]), 0)) \
    WORD(advance, NOTHING, (timeline_advance(timeline, a[0]), 0))                                  \
    WORD(complete, NOTHING, (timeline_complete(timeline, a[0]), 0))                                \
    /* What it knows. */                                                                           \
    WORD(holds, WHETHER, device_holds(device, a[0], a[1], (uint32_t)a[2])) /* ADDRESS BYTES OWNER */ \
    WORD(has_staged, WHETHER, device_has_staged(device, (uint32_t)a[0], a[1])) /* OWNER BYTES */   \
    WORD(stages, NUMBER, device_stage_count(device))                                               \
    WORD(mapped, NUMBER, device_mapped_bytes(device))                                              \
    WORD(has_left_range, WHETHER, device_left_range(device))                                       \
    WORD(is_hung, WHETHER, device_hung(device))                                                    \
    WORD(refused, FAULTS, device_faults_fired(device))                                             \
    WORD(struck, FAULTS, device_faults_struck(device))                                             \
    WORD(completed_before, NUMBER, device_calls(device, &count)[a[0]].completed_before) /* CALL */ \
    WORD(seen, NUMBER, device_seen_count(device))                                                  \
    WORD(now, NUMBER, timeline_now_ns(timeline))                                                   \
    WORD(completed, NUMBER, list_completed())                                                      \
    WORD(pending, NUMBER, timeline_pending_count(timeline))                                        \
    WORD(is_pending, WHETHER, timeline_state(timeline, a[0]) == EVENT_PENDING)                     \
    WORD(was_lost, WHETHER, timeline_was_lost(timeline, a[0]))                                     \
    WORD(due, NUMBER, timeline_due_ns(timeline, a[0]))                                             \
    WORD(last_due, NUMBER, timeline_last_due(timeline, a[0]))                                      \
    /* Of regions. */                                                                              \
    WORD(take, PLACE, take_region(a[0])) /* BYTES -> ADDRESS BYTES, or refused */                  \
    WORD(give, NOTHING, (calls->region_give(context, a[0]), 0))                                    \
    WORD(regions, NUMBER, (device_regions(device, &count), count))                                 \
    WORD(region, PLACE, (place = device_regions(device, &count)[a[0]], DEVICE_OK)) /* INDEX */     \
    WORD(changes, NUMBER, device_region_changes(device))                                           \
    WORD(gave_wrongly, WHETHER, device_gave_wrongly(device, &wrong))                               \
    WORD(given_wrongly, NUMBER, (device_gave_wrongly(device, &wrong), wrong))                      \
    WORD(calls, NUMBER, (device_calls(device, &count), count))                                     \
    WORD(is_take, WHETHER, device_calls(device, &count)[a[0]].kind == DEVICE_CALL_REGION_TAKE)     \
    WORD(is_give, WHETHER, device_calls(device, &count)[a[0]].kind == DEVICE_CALL_REGION_GIVE)     \
    WORD(call_from, NUMBER, device_calls(device, &count)[a[0]].from)                               \
    WORD(call_to, NUMBER, device_calls(device, &count)[a[0]].to)                                   \
    WORD(call_bytes, NUMBER, device_calls(device, &count)[a[0]].bytes)                             \
    WORD(call_result, RESULT, device_calls(device, &count)[a[0]].result)
/* clang-format on */

enum answer { NOTHING, RESULT, WHETHER, NUMBER, FAULTS, PLACE };
#define WORD(name, answer, value) WORD_##name,
enum word { WORDS WORD_COUNT };
#undef WORD
#define WORD(name, answer, value) {#name, answer},
static const struct {
    const char *name;
    enum answer answer;
} words[] = {WORDS};
#undef WORD

static uint64_t say_word(enum word word, const uint64_t a[ARGUMENT_MAX])
{
    switch (word) {
#define WORD(name, answer, value) \
    case WORD_##name:             \
        return (uint64_t)(value);
        WORDS
#undef WORD
    case WORD_COUNT:
        break;
    }
    return 0;
}

/* --- the files --- */

static void print_bytes(uint64_t bytes, const char *behind, char *text)
{
    const bool is_whole = bytes > 0 && bytes % (1 << 20) == 0;
    (void)snprintf(text, 32, "%" PRIu64 "%s%s", is_whole ? bytes >> 20 : bytes, is_whole ? "M" : "",
                   behind);
}

static void print_answer(enum answer answer, uint64_t value, char text[LINE_BYTES])
{
    static const char *const results[] = {"ok", "lost", "refused", "partial"};
    text[0] = '\0';
    if (answer == PLACE && value == DEVICE_OK) {
        print_bytes(place.address, " ", text);
        print_bytes(place.size_bytes, "", text + strlen(text));
    } else if (answer == RESULT || answer == PLACE) {
        (void)strcpy(text, results[value]);
    } else if (answer == WHETHER) {
        (void)strcpy(text, value != 0 ? "yes" : "no");
    } else if (answer == NUMBER && value == DELAY_NEVER) {
        (void)strcpy(text, "never");
    } else if (answer == NUMBER) {
        (void)snprintf(text, LINE_BYTES, "%" PRIu64, value);
    } else if (answer == FAULTS) {
        for (unsigned kind = 0; kind < FAULT_KIND_COUNT; kind++) {
            if ((value >> kind & 1) != 0) {
                (void)snprintf(text + strlen(text), LINE_BYTES - strlen(text), "%s%s",
                               text[0] == '\0' ? "" : " ", fault_info((enum fault_kind)kind)->name);
            }
        }
        if (value == 0) {
            (void)strcpy(text, "nothing");
        }
    }
}

/* A number, 2M, never, ever (for a fault that strikes for ever), or a fault. */
static uint64_t read_argument(const char *text)
{
    uint64_t number = 0;
    if (sscanf(text, "%" SCNu64, &number) == 1) {
        return strchr(text, 'M') == NULL ? number : number << 20;
    }
    for (unsigned kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        if (strcmp(text, fault_info((enum fault_kind)kind)->name) == 0) {
            return kind;
        }
    }
    expect(strcmp(text, "never") == 0 || strcmp(text, "ever") == 0, "'%s'?", text);
    return strcmp(text, "never") == 0 ? DELAY_NEVER : 1;
}

static void run_line(const struct line *line)
{
    char text[LINE_BYTES], got[LINE_BYTES];
    uint64_t arguments[ARGUMENT_MAX] = {0};
    enum word word = 0;
    here = line;
    memcpy(text, line->text, sizeof text);
    char *arrow = strstr(text, " -> "), *rest = NULL;
    const char *expected = arrow == NULL ? "" : arrow + 4;
    if (arrow != NULL) {
        *arrow = '\0';
    }
    const char *name = strtok_r(text, " ", &rest);
    while (word < WORD_COUNT && strcmp(name, words[word].name) != 0) {
        word++;
    }
    expect(word < WORD_COUNT, "what is '%s'?", name);
    const char *argument = strtok_r(NULL, " ", &rest);
    for (int i = 0; i < ARGUMENT_MAX && argument != NULL; i++) {
        arguments[i] = read_argument(argument);
        argument = strtok_r(NULL, " ", &rest);
    }
    print_answer(words[word].answer, say_word(word, arguments), got);
    expect(strcmp(got, expected) == 0, "%s: '%s', not '%s'", line->text, got, expected);
}

static void read_file(int file)
{
    char path[512], text[LINE_BYTES];
    (void)snprintf(path, sizeof path, "%s/tests/harness/device/%s.calls", HBMSTRESS_SOURCE_DIR,
                   file_names[file]);
    FILE *in = fopen(path, "r");
    ck_assert_msg(in != NULL, "%s is not there", path);
    for (int number = 1; fgets(text, sizeof text, in) != NULL; number++) {
        const bool is_inside = text[0] == ' ';
        text[strcspn(text, "#\n")] = '\0';
        char *begin = text + strspn(text, " "), *end = begin + strlen(begin);
        while (end > begin && end[-1] == ' ') {
            *--end = '\0';
        }
        if (*begin != '\0') {
            ck_assert(line_count < LINE_MAX && test_count < TEST_MAX);
            if (strncmp(begin, "test ", 5) == 0) {
                tests[test_count++] = line_count;
            }
            lines[line_count] = (struct line){
                .file = file, .number = number, .is_inside = is_inside};
            memcpy(lines[line_count++].text, begin, strlen(begin) + 1);
        }
    }
    fclose(in);
}

static int count_tests(void)
{
    if (line_count == 0) {
        read_file(0);
        read_file(1);
        read_file(2);
    }
    return test_count;
}

/* The device of the first line of the file, and what those before its first test say. */
static void begin_device(int file)
{
    const struct line *line = lines;
    while (line->file != file) {
        line++;
    }
    here = line;
    expect(strncmp(line->text, "capacity ", 9) == 0, "no capacity");
    use_device(read_argument(line->text + 9));
    for (line++; strncmp(line->text, "test ", 5) != 0; line++) {
        run_line(line);
    }
}

EVERY_TEST(.timeout_s = 120);

TEST(each_call_is_answered_as_the_line_says, .count = count_tests)
{
    const struct line *test = &lines[tests[_i]], *line = test + 1;
    begin_device(test->file);
    expect(line->is_inside, "the test has no lines");
    for (; line < lines + line_count && line->is_inside; line++) {
        if (strcmp(line->text, "anew") == 0) {
            leave_device();
            begin_device(test->file);
        } else {
            run_line(line);
        }
    }
    leave_device();
}

/* --- many calls --- */

static enum device_result copy_bytes(uint64_t from, uint64_t to, uint64_t bytes)
{
    return calls->copy(context, from, to, bytes);
}

static void arm_fault(enum fault_kind kind, uint64_t call, bool is_for_ever)
{
    device_arm(device, &(struct device_fault){kind, call, 0, is_for_ever});
}

static enum device_result stage_and_drop(void)
{
    uint64_t piece = 0;
    const enum device_result result = calls->stage_out(context, 0, 8, &piece);
    if (result == DEVICE_OK) {
        calls->stage_drop(context, piece);
    }
    return result;
}

/* A call of each kind that would be granted.  Event 1 is done. */
static enum device_result call_of(enum fault_kind call)
{
    switch (call) {
    case FAULT_COPY:
        return copy_bytes(0, 64, 8);
    case FAULT_WAIT:
        return calls->event_wait(context, 1);
    case FAULT_UNLOAD:
        return calls->unload(context, 7);
    default:
        return take_host_memory();
    }
}

TEST(copies_may_overlap_in_both_directions)
{
    for (uint64_t to = 0; to <= 16; to++) {
        begin_device(0);
        device_stamp(device, 8, 16, 0);
        ck_assert_int_eq(copy_bytes(8, to, 16), DEVICE_OK);
        ck_assert(device_holds(device, to, 16, 0));
        ck_assert_int_eq(copy_bytes(to, 40, 16), DEVICE_OK);
        ck_assert(device_holds(device, 40, 16, 0));
        leave_device();
    }
}

TEST(a_refusing_fault_strikes_its_nth_call_once_or_for_ever_until_it_is_disarmed)
{
    for (unsigned kind = 0; kind < FAULT_CALL_COUNT; kind++) {
        for (uint64_t nth = 1; nth <= 3; nth++) {
            for (int for_ever = 0; for_ever < 2; for_ever++) {
                begin_device(1);
                timeline_add(timeline, 1, 0);
                arm_fault((enum fault_kind)kind, nth, for_ever == 1);
                for (uint64_t i = 1; i <= 5; i++) {
                    const bool strikes = for_ever ? i >= nth : i == nth;
                    device_begin_op(device, 1000);
                    for (unsigned other = 0; other < FAULT_CALL_COUNT; other++) {
                        const enum device_result expected = strikes && other == kind
                                                                ? DEVICE_REFUSED
                                                                : DEVICE_OK;
                        ck_assert_int_eq(call_of((enum fault_kind)other), expected);
                    }
                    ck_assert_uint_eq(device_faults_fired(device), strikes ? 1u << kind : 0);
                    ck_assert_uint_eq(device_faults_struck(device), strikes ? 1u << kind : 0);
                }
                arm_fault((enum fault_kind)kind, 0, for_ever == 1);
                ck_assert_int_eq(call_of((enum fault_kind)kind), DEVICE_OK);
                leave_device();
            }
        }
    }
}

TEST(any_refuses_the_nth_call_of_whatever_kind)
{
    for (uint64_t nth = 1; nth <= 6; nth++) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            begin_device(1);
            timeline_add(timeline, 1, 0);
            ck_assert_int_eq(calls->stage_out(context, 0, 8, &stage), DEVICE_OK);
            arm_fault(FAULT_ANY, nth, for_ever == 1);
            const enum device_result results[] = {copy_bytes(0, 64, 8),
                                                  stage_and_drop(),
                                                  calls->stage_in(context, stage, 8),
                                                  calls->event_wait(context, 1),
                                                  calls->unload(context, 7),
                                                  take_host_memory()};
            static const enum fault_kind kinds[] = {FAULT_COPY, FAULT_COPY,   FAULT_COPY,
                                                    FAULT_WAIT, FAULT_UNLOAD, FAULT_HOST_MEMORY};
            uint32_t fired = 0;
            for (uint64_t i = 1; i <= 6; i++) {
                const bool strikes = for_ever ? i >= nth : i == nth;
                ck_assert_int_eq(results[i - 1], strikes ? DEVICE_REFUSED : DEVICE_OK);
                fired |= strikes ? 1u << kinds[i - 1] : 0;
            }
            ck_assert_uint_eq(device_faults_fired(device), fired);
            ck_assert_uint_eq(device_faults_struck(device), 1u << FAULT_ANY);
            leave_device();
        }
    }
}

TEST(a_copy_that_stops_half_way_ends_right_when_it_is_called_again)
{
    for (uint64_t to = 0; to <= 80; to++) {
        begin_device(1);
        device_stamp(device, 24, 16, 0);
        arm_fault(FAULT_COPY_HALF, 1, false);
        ck_assert_int_eq(copy_bytes(24, to, 16), DEVICE_PARTIAL);
        ck_assert(to == 24 || !device_holds(device, to, 16, 0));
        ck_assert_uint_eq(device_faults_fired(device), 0);
        ck_assert_uint_eq(device_faults_struck(device), 1u << FAULT_COPY_HALF);
        const bool overlaps = to < 40 && to + 16 > 24 && to != 24;
        ck_assert_int_eq(device_holds(device, 24, 16, 0), !overlaps);
        arm_fault(FAULT_COPY, 1, true); /* nothing refuses what goes on */
        arm_fault(FAULT_ANY, 1, true);
        ck_assert_int_eq(copy_bytes(24, to, 16), DEVICE_OK);
        ck_assert(device_holds(device, to, 16, 0));
        ck_assert_int_eq(copy_bytes(24, to, 16), DEVICE_REFUSED); /* a new one */
        leave_device();
    }
}

TEST(a_copy_that_is_halved_for_ever_ends_within_64_calls)
{
    static const uint64_t sizes[] = {1, 2, 65536, 65537, 131073, 1000003, UINT64_C(1) << 39};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int up = 0; up < 2; up++) {
            begin_device(1);
            const uint64_t from = up ? 0 : 1000;
            const uint64_t to = up ? 1000 : 0;
            device_begin_op(device, 1); /* calls that go on are not counted */
            device_stamp(device, from, sizes[i], 0);
            arm_fault(FAULT_COPY_HALF, 1, true);
            unsigned call_count = 1;
            while (copy_bytes(from, to, sizes[i]) == DEVICE_PARTIAL) {
                call_count++;
                ck_assert_uint_le(call_count, 64);
            }
            ck_assert_uint_ge(call_count, sizes[i] > 200000 ? 3 : sizes[i] > 1 ? 2 : 1);
            ck_assert(device_holds(device, to, sizes[i], 0));
            ck_assert(!device_hung(device));
            leave_device();
        }
    }
}

TEST(who_polls_for_ever_comes_back_and_is_hung)
{
    for (int what = 0; what < 3; what++) {
        begin_device(1);
        timeline_add(timeline, 1, 100);
        if (what == 0) {
            while (!calls->event_done(context, 1)) {
            }
        } else if (what == 1) {
            const uint64_t before = calls->completed_count(context);
            while (calls->completed_count(context) == before) {
            }
        } else {
            while (calls->clock_ns(context) < 100) {
            }
        }
        ck_assert(device_hung(device));
        ck_assert_int_eq(copy_bytes(0, 100, 16), DEVICE_REFUSED);
        device_begin_op(device, 1000);
        ck_assert(!device_hung(device));
        ck_assert(!calls->event_done(context, 1));
        ck_assert_uint_eq(calls->completed_count(context), 0);
        ck_assert_uint_eq(calls->clock_ns(context), 0);
        leave_device();
    }
}
