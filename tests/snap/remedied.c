/* For .snap files: what remedies make of a list.
 *
 *     remedied [--named TAG,TAG...] [--sums] REMEDY[=PARAMETER|=@INDEX]... <LIST
 *
 * LIST is an .ops file without its first line, on hbm and with 1 MiB where it does not say
 * otherwise.  Printed are the base that remedies start from, and for each remedy the parameters
 * that are worth a try, or the note why it does not apply; with a parameter, or where a remedy has
 * none, the variant: its result, note and ops, or with --sums the bytes by kind and tag.  An op of
 * a variant that fits and that was skipped is shown where no luck explains it. */
#include "diagnosis/private/what_if_parts.h"
#include "diagnosis/remedy.h"
#include "diagnosis/what_if.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "targets/targets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct what_if_base base;
static struct remedy_case given;
static bool has_sums;

/* The list on standard input, with the head that it lacks. */
static bool read_list(struct setup *setup, struct op_list *ops)
{
    static char body[1 << 16], text[(1 << 16) + 64];
    struct ops_file_error error = {0};
    body[fread(body, 1, sizeof body - 1, stdin)] = '\0';
    snprintf(text, sizeof text, "hbmstress-ops 1\n%s%s%s",
             strstr(body, "capacity") == NULL ? "capacity 1M\n" : "",
             strstr(body, "target") == NULL ? "target hbm\n" : "", body);
    const bool is_good = ops_file_parse(text, strlen(text), setup, ops, &error) == OPS_FILE_OK;
    if (!is_good) {
        printf("line %zu: %s\n", error.line, error.reason);
    }
    return is_good;
}

static void print_base(void)
{
    const struct remedy_steps *steps = &given.steps;
    printf("base: %zu ops", base.ops.count);
    if (base.op != OP_NONE) {
        printf(", op %" PRIu32 " refused%s", base.op, base.is_whole ? ", run whole" : "");
    }
    printf("%s", base.has_lanes ? ", lanes left out" : "");
    if (base.left_out_count > 0) {
        printf(", %zu left out", base.left_out_count);
    }
    if (steps->count > 0) {
        printf(", %zu bounds of steps, length %" PRIu64 ", the first at %" PRIu64, steps->count,
               (uint64_t)steps->length, (uint64_t)steps->bounds[0]);
    }
    printf("%s\n", remedy_lives_invariants_hold(&given.lives) ? "" : "; lives do not hold");
}

/* What completed already, what lies where a block went, and a move where nothing may. */
static bool may_be_skipped(const struct op *op)
{
    return op->kind == OP_COMPLETE || op->kind == OP_RETIRE || op->kind == OP_DEFRAGMENT;
}

static void print_skipped(const struct remedy_result *result)
{
    char reason[RUN_REASON_BYTES] = "";
    char text[OP_TEXT_BYTES];
    struct run *run = run_create(given.target, &result->setup, reason);
    for (size_t i = 0; run != NULL && i < result->ops.count; i++) {
        const struct op *op = &result->ops.ops[i];
        (void)run_step(run, op);
        if (run_observation(run)->skipped && !may_be_skipped(op)) {
            printf("  skipped: %zu: %s\n", i, op_print(op, text));
        }
    }
    run_destroy(run);
}

static void print_sums(const struct remedy_result *result)
{
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
            uint64_t bytes = 0, count = 0;
            for (size_t i = 0; i < result->ops.count; i++) {
                const struct op *op = &result->ops.ops[i];
                const bool is_meant = op->kind == kind && op->tag == tag;
                bytes += is_meant ? op->size_bytes : 0;
                count += is_meant;
            }
            if (count > 0) {
                printf("  %" PRIu64 " %s", count, op_kind_info((enum op_kind)kind)->name);
                printf(tag == 0 ? "" : " tag=%d", tag);
                printf(bytes == 0 ? "\n" : ": %" PRIu64 "\n", bytes);
            }
        }
    }
}

static void print_variant(const struct remedy *remedy, uint64_t parameter)
{
    struct remedy_result result;
    struct what_if_row row = {0};
    char title[REMEDY_TITLE_BYTES], text[OP_TEXT_BYTES];
    remedy_title(remedy, &given, parameter, title);
    remedy_result_init(&result);
    if (!remedy_apply(remedy, &given, parameter, &result)) {
        printf("%s: does not apply: %s\n", title, result.note);
    } else {
        what_if_measure(given.target, &result.setup, &result.ops, &row, NULL);
        printf("%s: %s, peak %" PRIu64 " of %" PRIu64 "%s%s; %s%s\n", title,
               what_if_end_name(row.end), row.peak_bytes, row.capacity_bytes,
               result.setup.chip[0] == '\0' ? "" : ", chip ", result.setup.chip, result.note,
               remedy->is_estimate ? " (estimate)" : "");
        for (size_t i = 0; !has_sums && i < result.ops.count; i++) {
            printf("  %zu: %s\n", i, op_print(&result.ops.ops[i], text));
        }
        if (has_sums) {
            print_sums(&result);
        }
        if (row.end == WHAT_IF_FITS) {
            print_skipped(&result);
        }
    }
    remedy_result_deinit(&result);
}

static void print_parameters(const struct remedy *remedy)
{
    char note[REMEDY_NOTE_BYTES] = "", title[REMEDY_TITLE_BYTES];
    uint64_t parameter = 0;
    size_t i = 0;
    for (; remedy->parameter(&given, i, &parameter, note); i++) {
        remedy_title(remedy, &given, parameter, title);
        printf("%s %s", i == 0 ? "to try:" : ",", title);
    }
    printf(i == 0 ? "%s: nothing to try: %s\n" : "\n", remedy->name, note);
}

/* The number, or the index-th of those that are worth a try. */
static uint64_t read_parameter(const struct remedy *remedy, const char *value)
{
    char note[REMEDY_NOTE_BYTES] = "";
    uint64_t parameter = 0;
    if (value[0] != '@') {
        return strtoull(value, NULL, 10);
    }
    if (!remedy->parameter(&given, strtoull(value + 1, NULL, 10), &parameter, note)) {
        printf("%s: no parameter %s\n", remedy->name, value);
    }
    return parameter;
}

int main(int count, char *words[])
{
    static bool named_tags[OP_TAG_COUNT];
    struct setup setup;
    struct op_list ops;
    op_list_init(&ops);
    if (!read_list(&setup, &ops)) {
        return 1;
    }
    const struct target *target = target_find(setup.target);
    (void)what_if_base_init(&base, target, &setup, &ops);
    remedy_case_init(&given, target, &base.contract, &base.setup, &base.ops, base.has_failed);
    print_base();
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--named") == 0) {
            for (char *tag = strtok(words[++i], ","); tag != NULL; tag = strtok(NULL, ",")) {
                named_tags[strtoul(tag, NULL, 10) % OP_TAG_COUNT] = true;
            }
            given.named_tags = named_tags;
            continue;
        }
        if (strcmp(words[i], "--sums") == 0) {
            has_sums = true;
            continue;
        }
        char *value = strchr(words[i], '=');
        if (value != NULL) {
            *value++ = '\0';
        }
        const struct remedy *remedy = remedy_find(words[i]);
        if (value == NULL && remedy->parameter != NULL) {
            print_parameters(remedy);
        } else {
            print_variant(remedy, value == NULL ? 0 : read_parameter(remedy, value));
        }
    }
    remedy_case_deinit(&given);
    what_if_base_deinit(&base);
    op_list_deinit(&ops);
    return 0;
}
