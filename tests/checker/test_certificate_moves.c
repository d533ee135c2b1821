/* Plans and slides of small heaps, drawn at random, against a device that is looked at byte by
 * byte: the checker accepts exactly what holds. */
#include "tests/checker/document.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CAPACITY = 24, BLOCK_MAX = 6, MOVE_MAX = 6, AWAY = -1, REQUEST_BLOCK = BLOCK_MAX };
enum { ROUND_COUNT = 6000, PART_BYTES = 4096 };

/* Where the blocks are, and last the request; whether a block may not move. */
struct heap {
    int count;
    int address[BLOCK_MAX + 1], size[BLOCK_MAX + 1], align[BLOCK_MAX + 1];
    bool is_held[BLOCK_MAX + 1], is_sliding;
};

static uint64_t random_state;

static int draw(int bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((random_state >> 33) % (uint64_t)bound);
}

static int draw_align(void)
{
    return draw(3) == 0 ? 2 << draw(2) : 1;
}

static struct heap draw_heap(bool is_sliding)
{
    struct heap heap = {.is_sliding = is_sliding};
    for (int at = draw(3); heap.count < BLOCK_MAX; at += draw(3), heap.count++) {
        const int align = draw_align(), size = 1 + draw(4);
        at = (at + align - 1) / align * align;
        if (at + size > CAPACITY) {
            break;
        }
        heap.address[heap.count] = at;
        heap.size[heap.count] = size;
        heap.align[heap.count] = align;
        heap.is_held[heap.count] = draw(4) == 0;
        at += size;
    }
    heap.address[REQUEST_BLOCK] = AWAY;
    heap.size[REQUEST_BLOCK] = 1 + draw(8);
    heap.align[REQUEST_BLOCK] = draw_align();
    return heap;
}

/* Whether block i may be there now, byte by byte. */
static bool is_place(const struct heap *heap, int i, int to)
{
    int owner[CAPACITY];
    bool is_free = to >= 0 && to + heap->size[i] <= CAPACITY && to % heap->align[i] == 0;
    for (int at = 0; at < CAPACITY; at++) {
        owner[at] = AWAY;
        for (int k = 0; k < heap->count; k++) {
            const bool is_there = heap->address[k] != AWAY && at >= heap->address[k] &&
                                  at < heap->address[k] + heap->size[k];
            owner[at] = is_there && k != i ? k : owner[at];
        }
        const bool is_inside = at >= to && at < to + heap->size[i];
        const bool is_passed = heap->is_sliding && i != REQUEST_BLOCK && owner[at] != AWAY &&
                               (at < to ? owner[at] > i : owner[at] < i);
        is_free = is_free && !(is_inside && owner[at] != AWAY) && !is_passed;
    }
    return is_free;
}

static struct {
    char text[PART_BYTES];
    size_t length;
} parts[4];
enum { REQUEST_PART, BLOCKS_PART, MOVES_PART, PROOF_PART };

__attribute__((format(printf, 2, 3))) static void append(int part, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(parts[part].text + parts[part].length,
                                 PART_BYTES - parts[part].length, format, arguments);
    va_end(arguments);
    parts[part].length += (size_t)length;
    ck_assert_uint_lt(parts[part].length, PART_BYTES);
}

static void append_heap(const struct heap *heap)
{
    memset(parts, 0, sizeof parts);
    append(REQUEST_PART, "{'class': 'buffer', 'bytes': %d, 'align': %d, 'stack': 0, 'program': -1}",
           heap->size[REQUEST_BLOCK], heap->align[REQUEST_BLOCK]);
    for (int i = 0; i < heap->count; i++) {
        append(BLOCKS_PART,
               "%s{'op': %d, 'kind': 'buffer', 'state': 'live', 'address': %d, 'size': %d,"
               " 'align': %d, 'stack': 0, 'holds': %d, 'used_until': 0, 'freed_at': 0}",
               i == 0 ? "" : ",\n", i, heap->address[i], heap->size[i], heap->align[i],
               heap->is_held[i]);
    }
}

static void expect_answer(const struct heap *heap, const char *claim, bool holds)
{
    document_expect(
        (struct document){.claim = claim,
                          .device = "{'capacity': 24, 'granule': 1}",
                          .contract = heap->is_sliding ? CONTRACT(slide) : CONTRACT(repack),
                          .request = parts[REQUEST_PART].text,
                          .blocks = parts[BLOCKS_PART].text,
                          .proof = parts[PROOF_PART].text},
        holds ? CERTIFICATE_VALID : CERTIFICATE_REFUTED, "");
}

/* A place that is right, where the first of some tries is one. */
static int draw_place(const struct heap *heap, int i)
{
    int to = draw(CAPACITY);
    for (int tries = 0; tries < CAPACITY && draw(12) > 0 && !is_place(heap, i, to); tries++) {
        to = draw(CAPACITY);
    }
    return to;
}

/* Moves one block; false: it may not do so. */
static bool draw_move(struct heap *heap, int number)
{
    const int i = draw(heap->count);
    const bool goes_away = heap->address[i] != AWAY && draw(4) == 0;
    const int to = goes_away ? AWAY : draw_place(heap, i);
    const bool holds = !heap->is_held[i] && (goes_away || is_place(heap, i, to));
    append(MOVES_PART, "%s{'block': %d, 'from': %d, 'to': %d, 'bytes': %d}",
           number == 0 ? "" : ", ", i, heap->address[i], to, heap->size[i]);
    heap->address[i] = to;
    return holds;
}

EVERY_TEST(.timeout_s = 60);

TEST(a_plan_holds_exactly_when_each_byte_is_free_when_it_is_needed, .to = 2)
{
    int valid = 0;
    random_state = 3 + (uint64_t)_i;
    for (int round = 0; round < ROUND_COUNT; round++) {
        struct heap heap = draw_heap(_i != 0);
        bool holds = true;
        append_heap(&heap);
        for (int number = 0, count = draw(MOVE_MAX + 1); heap.count > 0 && number < count;
             number++) {
            holds = draw_move(&heap, number) && holds;
        }
        for (int i = 0; i < heap.count; i++) {
            holds = holds && heap.address[i] != AWAY;
        }
        const int address = draw_place(&heap, REQUEST_BLOCK);
        holds = holds && is_place(&heap, REQUEST_BLOCK, address);
        append(PROOF_PART,
               "{'kind': 'plan', 'until': 0, 'address': %d, 'evict': [], 'moves': [%s]}", address,
               parts[MOVES_PART].text);
        expect_answer(&heap, "premature", holds);
        valid += holds;
    }
    ck_assert_int_gt(valid, ROUND_COUNT / 20);
    ck_assert_int_lt(valid, ROUND_COUNT / 20 * 19);
}

/* Block i of the order and those after it, from that byte on; the request once, before any. */
static bool can_place_from(const struct heap *heap, int i, int from, bool has_request)
{
    const int size = heap->size[REQUEST_BLOCK], align = heap->align[REQUEST_BLOCK];
    for (int at = from; has_request && at + size <= CAPACITY; at++) {
        if (at % align == 0 && can_place_from(heap, i, at + size, false)) {
            return true;
        }
    }
    if (i == heap->count) {
        return !has_request;
    }
    for (int at = from; at + heap->size[i] <= CAPACITY; at++) {
        if (at % heap->align[i] == 0 && (!heap->is_held[i] || at == heap->address[i]) &&
            can_place_from(heap, i + 1, at + heap->size[i], has_request)) {
            return true;
        }
    }
    return false;
}

TEST(spans_under_slide_hold_exactly_when_no_places_in_order_are_found)
{
    int valid = 0;
    random_state = 5;
    for (int round = 0; round < ROUND_COUNT / 10; round++) {
        const struct heap heap = draw_heap(true);
        append_heap(&heap);
        append(PROOF_PART, SPANS);
        const bool holds = !can_place_from(&heap, 0, 0, true);
        expect_answer(&heap, "justified", holds);
        valid += holds;
    }
    ck_assert_int_gt(valid, ROUND_COUNT / 100);
    ck_assert_int_lt(valid, ROUND_COUNT / 100 * 9);
}
