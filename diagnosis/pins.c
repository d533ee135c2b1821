#include "diagnosis/private/findings.h"

#include "harness/base/check.h"

#include <inttypes.h>
#include <stdlib.h>

enum { NAMED_COUNT_MAX = 3 };

/* A block that nothing gets past, and the room on both sides up to the next such block. */
struct pin {
    size_t block;
    uint64_t below_bytes, above_bytes;
};
struct pins {
    struct pin *pins; /* count of them, by address */
    size_t count;
};

static bool is_placed(const struct evidence_block *block)
{
    return block->state != BLOCK_GONE && !block->is_absent;
}

/* True if the block is in the way.  If nothing moves, every block is. */
static bool is_pin(const struct evidence *evidence, const struct evidence_block *block)
{
    if (!is_placed(block)) {
        return false;
    }
    return evidence->contract->defrag == DEFRAG_NONE || !block->is_movable;
}

static uint64_t measure_hole_without(const struct evidence *evidence, const struct pin *pin)
{
    return pin->below_bytes + evidence->blocks[pin->block].size_bytes + pin->above_bytes;
}

static void find_pins(const struct evidence *evidence, struct pins *pins)
{
    uint64_t end = evidence->stack_bytes;
    uint64_t free_bytes = 0;
    pins->count = 0;
    pins->pins = calloc(evidence->block_count + 1, sizeof *pins->pins);
    CHECK(pins->pins != NULL);
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (!is_placed(block)) {
            break;
        }
        free_bytes += block->address > end ? block->address - end : 0;
        end = block->address + block->size_bytes;
        if (is_pin(evidence, block)) {
            if (pins->count > 0) {
                pins->pins[pins->count - 1].above_bytes = free_bytes;
            }
            pins->pins[pins->count++] = (struct pin){.block = i, .below_bytes = free_bytes};
            free_bytes = 0;
        }
    }
    free_bytes += evidence->capacity_bytes > end ? evidence->capacity_bytes - end : 0;
    if (pins->count > 0) {
        pins->pins[pins->count - 1].above_bytes = free_bytes;
    }
}

static const char *explain_place(const struct evidence_block *block)
{
    if (block->state == BLOCK_DYING) {
        return "a queued free";
    }
    if (block->hold_count > 0) {
        return "held";
    }
    return block->is_busy ? "in use" : "live";
}

/* A block with no room beside it keeps no hole small. */
static bool is_in_the_way(const struct pin *pin)
{
    return pin->below_bytes + pin->above_bytes > 0;
}

/* The one without which the hole would be largest; pins->count: none is left. */
static size_t find_best_pin(const struct evidence *evidence, const struct pins *pins,
                            const bool *is_named)
{
    size_t best = pins->count;
    for (size_t i = 0; i < pins->count; i++) {
        const struct pin *pin = &pins->pins[i];
        const bool is_better = best == pins->count ||
                               measure_hole_without(evidence, pin) >
                                   measure_hole_without(evidence, &pins->pins[best]);
        best = !is_named[i] && is_in_the_way(pin) && is_better ? i : best;
    }
    return best;
}

static size_t count_in_the_way(const struct pins *pins)
{
    size_t count = 0;
    for (size_t i = 0; i < pins->count; i++) {
        count += is_in_the_way(&pins->pins[i]);
    }
    return count;
}

void pins_describe_block(const struct evidence *evidence, const struct evidence_block *block,
                         struct diagnosis *diagnosis)
{
    if (block->kind == BLOCK_RETIRED) {
        diagnosis_describe(diagnosis, "%s at 0x%" PRIx64 " (retired)",
                           size_text_of(block->size_bytes).text, block->address);
        return;
    }
    diagnosis_describe(diagnosis, "op %u ('%s', %s, %s)", block->op,
                       evidence_tag_name(evidence, block->tag).text,
                       size_text_of(block->size_bytes).text, explain_place(block));
}

static void describe_pin(const struct evidence *evidence, const struct pin *pin, bool is_first,
                         struct diagnosis *diagnosis)
{
    const struct evidence_block *block = &evidence->blocks[pin->block];
    const bool has_tag = block->kind != BLOCK_RETIRED;
    diagnosis_describe(diagnosis, "%s ",
                       is_first ? " In the way, each with the hole that would be there without it:"
                                : ";");
    pins_describe_block(evidence, block, diagnosis);
    diagnosis_describe(diagnosis, ": %s", size_text_of(measure_hole_without(evidence, pin)).text);
    if (is_first) {
        diagnosis->op = block->op;
        diagnosis->has_tag = has_tag;
        diagnosis->tag = has_tag ? block->tag : 0;
        diagnosis_number(diagnosis, "largest_hole_without_bytes",
                         measure_hole_without(evidence, pin));
    }
}

/* The most room between pins when those that are named are gone. */
static uint64_t count_room_without(const struct evidence *evidence, const struct pins *pins,
                                   const bool *is_named)
{
    uint64_t most = 0;
    uint64_t room = pins->count > 0 ? pins->pins[0].below_bytes : 0;
    for (size_t i = 0; i < pins->count; i++) {
        most = room > most ? room : most;
        room = (is_named[i] ? room + evidence->blocks[pins->pins[i].block].size_bytes : 0) +
               pins->pins[i].above_bytes;
    }
    return room > most ? room : most;
}

/* The few that matter most; returns how many. */
static size_t describe_pins(const struct evidence *evidence, const struct pins *pins,
                            bool *is_named, struct diagnosis *diagnosis)
{
    size_t named = 0;
    for (; named < NAMED_COUNT_MAX; named++) {
        const size_t best = find_best_pin(evidence, pins, is_named);
        if (best == pins->count) {
            break;
        }
        describe_pin(evidence, &pins->pins[best], named == 0, diagnosis);
        is_named[best] = true;
    }
    return named;
}

void pins_describe(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct pins pins;
    /* There the ends of regions keep holes small as well. */
    if (evidence->contract->regions.grows) {
        diagnosis_describe(diagnosis, " No hole spans two regions.");
        return;
    }
    find_pins(evidence, &pins);
    bool *is_named = calloc(pins.count + 1, sizeof *is_named);
    CHECK(is_named != NULL);
    const size_t count = count_in_the_way(&pins);
    const size_t named = describe_pins(evidence, &pins, is_named, diagnosis);
    diagnosis_number(diagnosis, "pins", count);
    if (count > named) {
        diagnosis_describe(diagnosis, "; and %zu more", count - named);
    }
    if (named > 1) {
        const uint64_t room = count_room_without(evidence, &pins, is_named);
        diagnosis_describe(diagnosis, ". Without these %zu, the largest hole would be %s", named,
                           size_text_of(room).text);
        diagnosis_number(diagnosis, "largest_hole_without_named_bytes", room);
    }
    diagnosis_describe(diagnosis, "%s",
                       named > 0 ? "."
                                 : " Nothing is in the way: every block next to a hole may move.");
    free(is_named);
    free(pins.pins);
}

const struct evidence_block *pins_lowest_below(const struct evidence *evidence, uint64_t address)
{
    for (size_t i = 0; i < evidence->block_count && is_placed(&evidence->blocks[i]); i++) {
        if (is_pin(evidence, &evidence->blocks[i])) {
            return evidence->blocks[i].address < address ? &evidence->blocks[i] : NULL;
        }
    }
    return NULL;
}
