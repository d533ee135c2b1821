#include "formats/common/compile_report.h"

#include "formats/common/phrase.h"
#include "harness/base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy_empty(void)
{
    char *text = strdup("");
    CHECK(text != NULL);
    return text;
}

struct compile_report *compile_report_create(void)
{
    struct compile_report *report = calloc(1, sizeof *report);
    CHECK(report != NULL);
    report->chip = copy_empty();
    report->module = copy_empty();
    report->remarks = copy_empty();
    return report;
}

void compile_report_destroy(struct compile_report *report)
{
    if (report == NULL) {
        return;
    }
    for (size_t i = 0; i < report->allocation_count; i++) {
        struct compile_allocation *allocation = &report->allocations[i];
        free(allocation->shape);
        free(allocation->op);
        free(allocation->source);
        free(allocation->label);
        free(allocation->type);
    }
    free(report->allocations);
    free(report->chip);
    free(report->module);
    free(report->remarks);
    free(report);
}

struct compile_allocation *compile_report_add(struct compile_report *report)
{
    const size_t count = report->allocation_count + 1;
    if ((count & (count - 1)) == 0) { /* the room is the next power of two */
        report->allocations = realloc(report->allocations, 2 * count * sizeof *report->allocations);
        CHECK(report->allocations != NULL);
    }
    struct compile_allocation *allocation = &report->allocations[report->allocation_count++];
    *allocation = (struct compile_allocation){.shape = copy_empty(),
                                              .op = copy_empty(),
                                              .source = copy_empty(),
                                              .label = copy_empty(),
                                              .type = copy_empty()};
    return allocation;
}

void compile_report_set(char **to, const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    CHECK(copy != NULL);
    phrase_print(text, length, copy, length + 1);
    free(*to);
    *to = copy;
}

void compile_report_remark(struct compile_report *report, const char *remark, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, remark);
    vsnprintf(line, sizeof line, remark, arguments);
    va_end(arguments);
    const size_t used = strlen(report->remarks);
    char *longer = realloc(report->remarks, used + strlen(line) + 2);
    CHECK(longer != NULL);
    snprintf(longer + used, strlen(line) + 2, "%s%s", used > 0 ? "\n" : "", line);
    report->remarks = longer;
}

bool compile_report_has_assignment(const struct compile_report *report)
{
    return report->form == COMPILE_FORM_GPU || report->form == COMPILE_FORM_ASSIGNMENT;
}

uint64_t compile_report_capacity(const struct compile_report *report)
{
    return report->given_capacity_bytes != 0 ? report->given_capacity_bytes
                                             : report->numbers[COMPILE_CAPACITY].range.nominal;
}

/* Returns the bytes that the program needs in all. */
static struct size_range sum_need(const struct compile_report *report)
{
    const struct compile_size *numbers = report->numbers;
    if (compile_report_has_assignment(report)) {
        return numbers[COMPILE_GPU_TOTAL].range;
    }
    const struct size_range *program =
        &numbers[numbers[COMPILE_PROGRAM].is_said ? COMPILE_PROGRAM : COMPILE_REQUIREMENT].range;
    const struct size_range *a = numbers[COMPILE_USED].is_said ? &numbers[COMPILE_USED].range
                                                               : program;
    const struct size_range *b = report->form == COMPILE_FORM_CORES
                                     ? &numbers[COMPILE_SPARSE_CORE].range
                                 : numbers[COMPILE_USED].is_said
                                     ? &(const struct size_range){0}
                                     : &numbers[COMPILE_ARGUMENTS].range;
    return (struct size_range){a->low + b->low, a->high + b->high, a->nominal + b->nominal};
}

struct compile_size compile_report_missing(const struct compile_report *report)
{
    const struct compile_size *exceeded = &report->numbers[COMPILE_EXCEEDED];
    const uint64_t given = report->given_capacity_bytes;
    const struct size_range need = sum_need(report);
    const struct size_range capacity = given != 0 ? printed_size_exact(given)
                                                  : report->numbers[COMPILE_CAPACITY].range;
    if (given == 0 && exceeded->is_said) {
        return *exceeded;
    }
    if (capacity.nominal == 0 || need.nominal <= capacity.nominal) {
        return (struct compile_size){0};
    }
    return (struct compile_size){.is_said = true,
                                 .range = {need.low > capacity.high ? need.low - capacity.high : 0,
                                           need.high > capacity.low ? need.high - capacity.low : 0,
                                           need.nominal - capacity.nominal}};
}
