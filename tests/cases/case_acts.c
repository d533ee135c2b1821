#include "harness/device/device.h"
#include "tests/cases/case.h"

#include <stdlib.h>

static uint64_t stage_stack[8], taken_bytes;
static uint32_t stage_count; /* that are in host memory: the last one is meant */
static void *taken;

static const struct device_services *services(void)
{
    return script.device[now.acting_host];
}

static void expect_result(const char **at, enum device_result result)
{
    static const char *const names[] = {"done", "lost", "refused", "partial"};
    const char *rest = *at + strspn(*at, " ");
    const char *wanted = "done";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (*rest == '(' && strncmp(rest + 1, names[i], strlen(names[i])) == 0) {
            wanted = names[i];
            *at = strchr(rest, ')') + 1;
        }
    }
    if (strcmp(names[result], wanted) != 0) {
        FAIL("the device answered %s, not %s", names[result], wanted);
    }
}

static void act_copied(const char **at)
{
    char word[WORD_BYTES];
    const uint64_t from = need_bytes(at);
    need_word(at, word); /* to */
    const uint64_t to = need_bytes(at);
    need_word(at, word); /* size */
    expect_result(at, services()->copy(services()->context, from, to, need_bytes(at)));
}

static void act_moved(const char **at)
{
    char word[WORD_BYTES];
    struct target_block *block = &script.at[need_number(at) + 1];
    need_word(at, word); /* to */
    const uint64_t to = need_bytes(at);
    expect_result(at, services()->copy(services()->context, block->address, to, block->size_bytes));
    block->address = to;
}

static void act_tells(const char **at)
{
    char word[WORD_BYTES];
    struct target_block *block = &script.at[need_number(at) + 1];
    need_word(at, word); /* at, size, nowhere */
    if (strcmp(word, "nowhere") == 0) {
        block->address = TARGET_ADDRESS_NONE;
        return;
    }
    const bool is_size = strcmp(word, "size") == 0;
    *(is_size ? &block->size_bytes : &block->address) = need_bytes(at);
}

static void act_waited(const char **at)
{
    expect_result(at, services()->event_wait(services()->context, need_number(at) + 1));
}

static void act_looked(const char **at)
{
    (void)services()->event_done(services()->context, need_number(at) + 1);
}

static void act_unloaded(const char **at)
{
    expect_result(at, services()->unload(services()->context, need_number(at) + 1));
}

static void act_evicted(const char **at)
{
    const uint64_t op = need_number(at);
    expect_result(at, services()->unload(services()->context, op + 1));
    script.at[op + 1].address = TARGET_ADDRESS_NONE;
}

static void act_staged(const char **at)
{
    char word[WORD_BYTES];
    need_word(at, word);
    uint64_t *stage = &stage_stack[(stage_count - (strcmp(word, "out") != 0)) % 8];
    if (strcmp(word, "dropped") == 0) {
        services()->stage_drop(services()->context, *stage);
        stage_count--;
    } else if (strcmp(word, "in") == 0) {
        const uint64_t to = need_bytes(at);
        const enum device_result result = services()->stage_in(services()->context, *stage, to);
        stage_count -= result == DEVICE_OK;
        expect_result(at, result);
    } else { /* out: ADDRESS size SIZE */
        const uint64_t from = need_bytes(at);
        need_word(at, word);
        const uint64_t size = need_bytes(at);
        expect_result(at, services()->stage_out(services()->context, from, size, stage));
        stage_count++;
    }
}

static void act_took(const char **at)
{
    taken_bytes = need_number(at);
    taken = services()->host_alloc(services()->context, taken_bytes);
    expect_result(at, taken == NULL ? DEVICE_REFUSED : DEVICE_OK);
}

static void act_gave(const char **at)
{
    (void)at;
    services()->host_free(services()->context, taken, taken_bytes);
}

/* The counters of the target are off by so much: "counts num_allocs 1". */
static void act_counts(const char **at)
{
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
#define ROW(name) {#name, offsetof(struct target_stats, name)}
        ROW(num_allocs),          ROW(bytes_in_use),    ROW(peak_bytes_in_use),
        ROW(largest_alloc_size),  ROW(bytes_limit),     ROW(bytes_reserved),
        ROW(peak_bytes_reserved), ROW(free_bytes),      ROW(largest_free_block_bytes),
        ROW(used_bytes),          ROW(evictable_bytes), ROW(held_bytes)};
#undef ROW
    char word[WORD_BYTES], number[256];
    need_word(at, word);
    need_word(at, number);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(word, rows[i].name) == 0) {
            *(uint64_t *)(void *)((char *)&script.stats_more +
                                  rows[i].offset) = (uint64_t)strtoll(number, NULL, 0);
            return;
        }
    }
    FAIL("there is no counter '%s'", word);
}

static void act_says(const char **at)
{
    char word[WORD_BYTES];
    need_word(at, word);
    script.message = unquoted(word);
}

/* Stages by the block that they hold: several may be there at once. */
static uint64_t stages[HANDLE_COUNT_MAX];

static void act_saved(const char **at)
{
    const uint64_t op = need_number(at);
    const struct target_block *block = &script.at[op + 1];
    expect_result(at, services()->stage_out(services()->context, block->address, block->size_bytes,
                                            &stages[op]));
}

static void act_restored(const char **at)
{
    char word[WORD_BYTES];
    const uint64_t op = need_number(at);
    need_word(at, word); /* to */
    const uint64_t to = need_bytes(at);
    expect_result(at, services()->stage_copy(services()->context, stages[op], to));
}

static void act_dropped(const char **at)
{
    services()->stage_drop(services()->context, stages[need_number(at)]);
}

static void act_returned(const char **at)
{
    char word[WORD_BYTES];
    const uint64_t op = need_number(at);
    need_word(at, word); /* to */
    const uint64_t to = need_bytes(at);
    expect_result(at, services()->stage_in(services()->context, stages[op], to));
}

static void act_mapped(const char **at)
{
    char word[WORD_BYTES];
    const uint64_t address = need_bytes(at);
    need_word(at, word); /* size */
    expect_result(at, services()->map(services()->context, address, need_bytes(at)));
}

static void act_unmapped(const char **at)
{
    char word[WORD_BYTES];
    const uint64_t address = need_bytes(at);
    need_word(at, word); /* size */
    services()->unmap(services()->context, address, need_bytes(at));
}

/* Who has the memory, in granules: free, used, evictable and held. */
static void act_owners(const char **at)
{
    script.stats_more.free_bytes = need_bytes(at);
    script.stats_more.used_bytes = need_bytes(at);
    script.stats_more.evictable_bytes = need_bytes(at);
    script.stats_more.held_bytes = need_bytes(at);
}

/* The clock, or the count of completed events. */
static void act_asked(const char **at)
{
    char word[WORD_BYTES];
    need_word(at, word);
    if (strcmp(word, "clock") == 0) {
        (void)services()->clock_ns(services()->context);
    } else {
        (void)services()->completed_count(services()->context);
    }
}

/* A region of so many granules; it is the lowest one that is free. */
static void act_grown(const char **at)
{
    struct device_region region;
    const uint64_t bytes = need_bytes(at);
    expect_result(at, services()->region_take(services()->context, bytes, &region));
}

static void act_shrunk(const char **at)
{
    services()->region_give(services()->context, need_bytes(at));
}

/* Adds a row to the report, which has none of the right ones then: "lists buffer 2 at 0 tag 3"; or
 * "lists nothing". */
static void act_lists(const char **at)
{
    static const char *const kinds[] = {"buffer", "output", "program", "retired"};
    char word[WORD_BYTES];
    need_word(at, word);
    script.row_count = script.row_count < 0 || strcmp(word, "nothing") == 0 ? 0 : script.row_count;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(word, kinds[i]) == 0) {
            struct target_row *row = &script.rows[script.row_count++];
            *row = (struct target_row){.kind = (enum block_kind)i, .size_bytes = need_bytes(at)};
            need_word(at, word); /* at */
            row->address = need_bytes(at);
            if (strncmp(*at, " tag ", 5) == 0) {
                *at += 5;
                row->tag = (uint32_t)need_number(at);
            }
        }
    }
}

/* It acts on the device of that host from here on. */
static void act_host(const char **at)
{
    now.acting_host = (uint32_t)need_number(at) % HOST_COUNT;
}

/* The next call of that kind is struck: "struck copy". */
static void act_struck(const char **at)
{
    char word[WORD_BYTES];
    need_word(at, word);
    for (int i = 0; i < FAULT_KIND_COUNT; i++) {
        if (strcmp(word, fault_info((enum fault_kind)i)->name) == 0) {
            device_arm(run_device(script.run, now.acting_host),
                       &(struct device_fault){.kind = (enum fault_kind)i, .call = 1});
            return;
        }
    }
    FAIL("there is no fault '%s'", word);
}

static void act_copies(const char **at)
{
    char word[WORD_BYTES];
    need_word(at, word); /* forever: until the device has enough of it */
    for (int i = 0; i < 1 << 16 && services()->copy(services()->context, 0, 0, G) == DEVICE_OK;
         i++) {
    }
}

static void act_polls(const char **at)
{
    const uint64_t op = need_number(at);
    while (!services()->event_done(services()->context, op + 1)) {
    }
}

/* It writes behind the memory that it took. */
static void act_overran(const char **at)
{
    (void)at;
    ((unsigned char *)taken)[taken_bytes] ^= 1;
}

/* So do all calls from here on, up to the end. */
static void act_fails(const char **at)
{
    (void)at;
    script.result = TARGET_FAILED;
    script.act = act_in_call;
}

static const struct {
    const char *name;
    void (*act)(const char **at);
} acts[] = {{"moved", act_moved},       {"copied", act_copied},     {"tells", act_tells},
            {"waited", act_waited},     {"looked", act_looked},     {"evicted", act_evicted},
            {"unloaded", act_unloaded}, {"staged", act_staged},     {"took", act_took},
            {"gave", act_gave},         {"counts", act_counts},     {"says", act_says},
            {"saved", act_saved},       {"restored", act_restored}, {"returned", act_returned},
            {"dropped", act_dropped},   {"mapped", act_mapped},     {"unmapped", act_unmapped},
            {"owners", act_owners},     {"asked", act_asked},       {"grown", act_grown},
            {"shrunk", act_shrunk},     {"lists", act_lists},       {"struck", act_struck},
            {"copies", act_copies},     {"polls", act_polls},       {"host", act_host},
            {"overran", act_overran},   {"fails", act_fails}};

/* Carries out all that is listed: "moved 3 to 0, waited 1". */
void act_all(const char *at)
{
    char word[WORD_BYTES];
    while (next_word(&at, word)) {
        size_t i = 0;
        while (i < sizeof acts / sizeof *acts && strcmp(word, acts[i].name) != 0) {
            i++;
        }
        if (i == sizeof acts / sizeof *acts) {
            FAIL("there is no act '%s'", word);
        }
        acts[i].act(&at);
    }
}

void act_in_call(void)
{
    act_all(now.acts);
}

void acts_begin(void)
{
    stage_count = now.acting_host = 0;
    taken = NULL;
    taken_bytes = 0;
    memset(stages, 0, sizeof stages);
}

uint64_t acts_stage(void)
{
    return stage_stack[(stage_count - 1) % 8];
}
