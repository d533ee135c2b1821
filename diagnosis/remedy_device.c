/* What changes the setup and leaves the list as it is, retirements aside: another chip, another
 * capacity, the allocator's mitigations. */
#include "diagnosis/remedy.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_ops(const struct remedy_case *given, struct remedy_result *result)
{
    op_list_copy(&result->ops, given->ops);
}

static void set_note(char note[REMEDY_NOTE_BYTES], const char *text)
{
    snprintf(note, REMEDY_NOTE_BYTES, "%s", text);
}

/* --- chips --- */

/* What the list has of the memory that a chip keeps to itself: it begins with that. */
static uint64_t reserved_bytes(const struct remedy_case *given)
{
    const unsigned tag = setup_tag_named(given->setup, SETUP_RESERVED_NAME);
    const struct op *first = given->ops->ops;
    return given->ops->count > 0 && first->kind == OP_ALLOC && first->tag == tag ? first->size_bytes
                                                                                 : 0;
}

static uint64_t chip_capacity(const struct remedy_case *given, const struct chip *chip)
{
    const uint64_t granule = given->contract->granule_bytes;
    return (chip->capacity_bytes + reserved_bytes(given)) / granule * granule;
}

/* Whether a comes before b: larger devices before smaller ones, and the nearest of each first. */
static bool is_nearer(const struct remedy_case *given, const struct chip *a, const struct chip *b)
{
    const uint64_t now = given->setup->capacity_bytes;
    const uint64_t of_a = chip_capacity(given, a);
    const uint64_t of_b = chip_capacity(given, b);
    if ((of_a > now) != (of_b > now)) {
        return of_a > now;
    }
    return of_a > now ? of_a < of_b : of_a > of_b;
}

static bool is_another(const struct remedy_case *given, const struct chip *chip)
{
    return strcmp(given->setup->chip, chip->name) != 0 &&
           chip_capacity(given, chip) != given->setup->capacity_bytes;
}

static size_t chips_before(const struct remedy_case *given, const struct chip *chip)
{
    size_t before = 0;
    for (size_t i = 0; chips[i] != NULL; i++) {
        before += is_another(given, chips[i]) && is_nearer(given, chips[i], chip);
    }
    return before;
}

static bool chip_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                           char note[REMEDY_NOTE_BYTES])
{
    set_note(note, "there is no other chip");
    for (size_t i = 0; chips[i] != NULL; i++) {
        if (is_another(given, chips[i]) && chips_before(given, chips[i]) == index) {
            *parameter = i;
            return true;
        }
    }
    return false;
}

static void chip_label(const struct remedy_case *given, uint64_t parameter,
                       char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    snprintf(text, REMEDY_LABEL_BYTES, "%s", chips[parameter]->name);
}

/* What is retired is of the device that the list is from.  Returns how many ops were left out. */
static size_t leave_out_retired(const struct remedy_case *given, struct remedy_result *result)
{
    const size_t count = given->ops->count;
    bool *keep = malloc(count + 1);
    CHECK(keep != NULL);
    for (size_t i = 0; i < count; i++) {
        keep[i] = given->ops->ops[i].kind != OP_RETIRE;
    }
    keep_ops(given, result);
    op_list_filter(&result->ops, keep);
    free(keep);
    return count - result->ops.count;
}

/* Behind the used characters of the note. */
static void note_retired(struct remedy_result *result, int used, size_t retired_count)
{
    if (retired_count > 0) {
        snprintf(result->note + used, sizeof result->note - (size_t)used,
                 "; nothing is retired there (here: %zu)", retired_count);
    }
}

static bool chip_apply(const struct remedy_case *given, uint64_t parameter,
                       struct remedy_result *result)
{
    const struct chip *chip = chips[parameter];
    char size[SIZE_TEXT_BYTES];
    result->setup.capacity_bytes = chip_capacity(given, chip);
    snprintf(result->setup.chip, sizeof result->setup.chip, "%s", chip->name);
    size_print_field(result->setup.capacity_bytes - reserved_bytes(given), size);
    const size_t retired_count = leave_out_retired(given, result);
    note_retired(result,
                 snprintf(result->note, sizeof result->note, "a device of %s%s", size,
                          reserved_bytes(given) > 0 ? " and what is reserved" : ""),
                 retired_count);
    return true;
}

const struct remedy remedy_chip = {
    .name = "chip",
    .summary = "another chip",
    .parameter_name = "chip",
    .assumes =
        "The job asks for the same buffers there: layouts and programs of another chip may differ.",
    .search = REMEDY_EACH,
    .parameter = chip_parameter,
    .label = chip_label,
    .apply = chip_apply,
};

/* --- capacity --- */

/* The least that can do: what the buffers alone take. */
static bool capacity_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                               char note[REMEDY_NOTE_BYTES])
{
    const uint64_t granule = given->contract->granule_bytes;
    note[0] = '\0';
    *parameter = given->lives.buffer_peak_bytes < granule ? granule
                                                          : given->lives.buffer_peak_bytes;
    return index == 0;
}

static void capacity_label(const struct remedy_case *given, uint64_t parameter,
                           char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    size_print(parameter, text);
}

static bool capacity_apply(const struct remedy_case *given, uint64_t parameter,
                           struct remedy_result *result)
{
    const uint64_t now = given->setup->capacity_bytes;
    char size[SIZE_TEXT_BYTES];
    const size_t retired_count = leave_out_retired(given, result);
    result->setup.capacity_bytes = parameter;
    result->setup.chip[0] = '\0';
    size_print_field(parameter > now ? parameter - now : now - parameter, size);
    note_retired(result,
                 snprintf(result->note, sizeof result->note, "%s %s", size,
                          parameter > now ? "more" : "less"),
                 retired_count);
    return true;
}

const struct remedy remedy_capacity = {
    .name = "capacity",
    .summary = "the smallest device on which the list runs",
    .parameter_name = "bytes",
    .assumes = "The job asks for the same buffers there.",
    .search = REMEDY_BISECTED,
    .parameter = capacity_parameter,
    .label = capacity_label,
    .apply = capacity_apply,
};

/* --- mitigations: options of the target --- */

/* A line of the target's help begins with key and '='. */
static bool target_has_option(const struct target *target, const char *key)
{
    const size_t length = strlen(key);
    for (const char *line = target->option_help; line != NULL && *line != '\0';) {
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            return true;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return false;
}

/* The index-th of count values that is not the current one. */
static bool other_value(size_t count, size_t current, size_t index, uint64_t *parameter)
{
    const size_t at = index + (index >= current);
    *parameter = at;
    return at < count;
}

static bool refuse_option(const struct remedy_case *given, const char *key,
                          char note[REMEDY_NOTE_BYTES])
{
    if (target_has_option(given->target, key)) {
        return false;
    }
    snprintf(note, REMEDY_NOTE_BYTES, "target %.64s has no option %s", given->target->name, key);
    return true;
}

static bool set_option(const struct remedy_case *given, const char *key, const char *value,
                       struct remedy_result *result)
{
    keep_ops(given, result);
    snprintf(result->note, sizeof result->note, "target option %s=%s", key, value);
    if (setup_set_option(&result->setup, key, value)) {
        return true;
    }
    set_note(result->note, "the setup has no room for another option");
    return false;
}

static const char *const defrag_values[] = {
    [DEFRAG_NONE] = "none", [DEFRAG_SLIDE] = "slide", [DEFRAG_REPACK] = "repack"};
enum { DEFRAG_VALUE_COUNT = sizeof defrag_values / sizeof *defrag_values };

static bool defrag_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES])
{
    return !refuse_option(given, "defrag", note) &&
           other_value(DEFRAG_VALUE_COUNT, given->contract->defrag, index, parameter);
}

static void defrag_label(const struct remedy_case *given, uint64_t parameter,
                         char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    snprintf(text, REMEDY_LABEL_BYTES, "%s", defrag_values[parameter]);
}

static bool defrag_apply(const struct remedy_case *given, uint64_t parameter,
                         struct remedy_result *result)
{
    return set_option(given, "defrag", defrag_values[parameter], result);
}

const struct remedy remedy_defrag = {
    .name = "defrag",
    .summary = "defragmentation off, within spans, or anywhere",
    .parameter_name = "contract",
    .assumes = "The allocator may move what it moves there.",
    .search = REMEDY_EACH,
    .parameter = defrag_parameter,
    .label = defrag_label,
    .apply = defrag_apply,
};

/* What comes first decides what a request costs; the order of the others, which of them is not
 * asked any more. */
static const struct order {
    enum mitigation first;
    const char *value, *label;
} orders[] = {
    {MITIGATION_DRAIN, "drain,defragment,evict", "drain-first"},
    {MITIGATION_DEFRAGMENT, "defragment,drain,evict", "defragment-first"},
    {MITIGATION_EVICT, "evict,drain,defragment", "evict-first"},
};
enum { ORDER_COUNT = sizeof orders / sizeof *orders };

static bool order_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                            char note[REMEDY_NOTE_BYTES])
{
    size_t current = 0;
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        current = orders[i].first == given->contract->order[0] ? i : current;
    }
    return !refuse_option(given, "order", note) &&
           other_value(ORDER_COUNT, current, index, parameter);
}

static void order_label(const struct remedy_case *given, uint64_t parameter,
                        char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    snprintf(text, REMEDY_LABEL_BYTES, "%s", orders[parameter].label);
}

static bool order_apply(const struct remedy_case *given, uint64_t parameter,
                        struct remedy_result *result)
{
    return set_option(given, "order", orders[parameter].value, result);
}

const struct remedy remedy_order = {
    .name = "order",
    .summary = "another mitigation first",
    .parameter_name = "order",
    .assumes = "The allocator may be told so.",
    .search = REMEDY_EACH,
    .parameter = order_parameter,
    .label = order_label,
    .apply = order_apply,
};

/* --- mitigations that are on or off --- */

static const char *const flag_values[] = {"no", "yes"};

static void flag_label(const struct remedy_case *given, uint64_t parameter,
                       char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    snprintf(text, REMEDY_LABEL_BYTES, "%s", flag_values[parameter]);
}

static bool drains_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES])
{
    return !refuse_option(given, "drains", note) &&
           other_value(2, given->contract->drains, index, parameter);
}

static bool drains_apply(const struct remedy_case *given, uint64_t parameter,
                         struct remedy_result *result)
{
    return set_option(given, "drains", flag_values[parameter], result);
}

const struct remedy remedy_drains = {
    .name = "drains",
    .summary = "whether a request waits for queued frees",
    .parameter_name = "yes or no",
    .assumes = "The allocator may be told so.",
    .search = REMEDY_EACH,
    .parameter = drains_parameter,
    .label = flag_label,
    .apply = drains_apply,
};

static bool evicts_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES])
{
    return !refuse_option(given, "evicts", note) &&
           other_value(2, given->contract->evicts, index, parameter);
}

static bool evicts_apply(const struct remedy_case *given, uint64_t parameter,
                         struct remedy_result *result)
{
    return set_option(given, "evicts", flag_values[parameter], result);
}

const struct remedy remedy_evicts = {
    .name = "evicts",
    .summary = "whether a buffer may evict idle programs",
    .parameter_name = "yes or no",
    .assumes = "The allocator may be told so.",
    .search = REMEDY_EACH,
    .parameter = evicts_parameter,
    .label = flag_label,
    .apply = evicts_apply,
};

static bool program_evicts_parameter(const struct remedy_case *given, size_t index,
                                     uint64_t *parameter, char note[REMEDY_NOTE_BYTES])
{
    return !refuse_option(given, "program_evicts_program", note) &&
           other_value(2, given->contract->program_evicts_program, index, parameter);
}

static bool program_evicts_apply(const struct remedy_case *given, uint64_t parameter,
                                 struct remedy_result *result)
{
    return set_option(given, "program_evicts_program", flag_values[parameter], result);
}

const struct remedy remedy_program_evicts = {
    .name = "program-evicts-program",
    .summary = "whether a program that is loaded may evict idle ones",
    .parameter_name = "yes or no",
    .assumes = "The allocator may be told so.",
    .search = REMEDY_EACH,
    .parameter = program_evicts_parameter,
    .label = flag_label,
    .apply = program_evicts_apply,
};
