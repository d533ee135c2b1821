#include "bench/peers/packing.h"

#include "bench/peers/subjects.h"
#include "formats/formats.h"
#include "harness/base/check.h"
#include "measure/needs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Capacities that are tried, from the peak up: whether a list is served may change back. */
enum { STEPS_PER_PEAK = 128, STEP_COUNT = 2 * STEPS_PER_PEAK };

struct packing_list {
    char name[8]; /* the first letters of the file */
    struct peer_op *ops;
    size_t count;
    uint64_t peak_bytes;
    uint32_t live_count_max;
};

/* A need is a multiple of the peak. */
struct list_need {
    double least; /* the smallest capacity that serves the list; 0: none that was tried */
    double mean;  /* what it would be if all smaller capacities failed, and all larger ones served:
                     as many fail as do */
};

/* --- lists --- */

/* Allocs and frees, sizes in whole granules. */
static void convert_list(const struct op_list *ops, struct packing_list *list)
{
    list->ops = calloc(ops->count, sizeof *list->ops);
    uint32_t *places = calloc(ops->count, sizeof *places); /* by op of ops: that of list->ops */
    CHECK(list->ops != NULL && places != NULL);
    uint64_t live_bytes = 0;
    uint32_t live_count = 0;
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        struct peer_op *made = &list->ops[list->count];
        if (list_op_is_request(op)) {
            *made = (struct peer_op){.size_bytes = peer_round_up(op->size_bytes)};
            places[i] = (uint32_t)list->count++;
            live_bytes += made->size_bytes;
            live_count++;
        } else if (op->kind == OP_FREE) {
            *made = (struct peer_op){.ref = places[op->ref]};
            live_bytes -= list->ops[made->ref].size_bytes;
            live_count--;
            list->count++;
        }
        list->peak_bytes = live_bytes > list->peak_bytes ? live_bytes : list->peak_bytes;
        list->live_count_max = live_count > list->live_count_max ? live_count
                                                                 : list->live_count_max;
    }
    free(places);
}

static bool read_list(const char *path, struct packing_list *list)
{
    struct import import;
    struct import_error error;
    import_init(&import);
    const bool is_read = import_file(path, "auto", NULL, &import, &error) == IMPORT_OK;
    if (is_read) {
        const char *slash = strrchr(path, '/');
        (void)snprintf(list->name, sizeof list->name, "%s", slash == NULL ? path : slash + 1);
        list->name[strcspn(list->name, ".")] = '\0';
        convert_list(&import.ops, list);
    } else {
        char text[IMPORT_MESSAGE_BYTES];
        (void)fprintf(stderr, "bench_peers: %s\n",
                      import_error_print(path, &error, text, sizeof text));
    }
    import_deinit(&import);
    return is_read && list->peak_bytes != 0;
}

/* --- one subject --- */

/* False: it has no heap for a list that is no workload. */
static bool find_need(const struct peer_subject *subject, const struct packing_list *packing,
                      struct list_need *need)
{
    uint32_t failed_count = 0;
    *need = (struct list_need){0};
    for (uint32_t step = 0; step <= STEP_COUNT; step++) {
        const uint64_t above_bytes = packing->peak_bytes / STEPS_PER_PEAK * step;
        const struct peer_list list = {
            .ops = packing->ops,
            .count = packing->count,
            .capacity_bytes = peer_round_up(packing->peak_bytes + above_bytes),
            .live_count_max = packing->live_count_max};
        struct played played;
        if (!subject->play(subject, &list, &played)) {
            return false;
        }
        if (played.refused_count != 0) {
            failed_count++;
        } else if (need->least == 0) {
            need->least = 1 + (double)step / STEPS_PER_PEAK;
        }
    }
    need->mean = 1 + (double)failed_count / STEPS_PER_PEAK;
    return true;
}

static void print_need(double need)
{
    if (need == 0) {
        printf("     -");
    } else {
        printf(" %5.3f", need);
    }
}

static void print_subject(const struct peer_subject *subject, const struct packing_list *lists,
                          int count)
{
    struct list_need *needs = calloc((size_t)count, sizeof *needs), sum = {0};
    CHECK(needs != NULL);
    bool is_played = true, is_served = true;
    for (int i = 0; i < count && is_played; i++) {
        is_played = find_need(subject, &lists[i], &needs[i]);
        is_served = is_served && needs[i].least != 0;
        sum.least += needs[i].least / count;
        sum.mean += needs[i].mean / count;
    }
    if (is_played) {
        printf("%-30s ", subject->name);
        print_need(is_served ? sum.least : 0);
        print_need(is_served ? sum.mean : 0);
        for (int i = 0; i < count; i++) {
            print_need(needs[i].least);
        }
        printf("\n");
        (void)fflush(stdout);
    }
    free(needs);
}

static void print_head(const struct packing_list *lists, int count)
{
    printf(
        "memory needed without defragmentation, as a multiple of what the list holds at most\n"
        "least: the smallest capacity that serves it, of those tried, each 1/%d of the peak up to %d peaks\n"
        "mean: as if all smaller ones failed, as many as do.  The lists: least.  -: none serves it\n\n"
        "%-30s  %5s %5s",
        STEPS_PER_PEAK, 1 + STEP_COUNT / STEPS_PER_PEAK, "", "least", "mean");
    for (int i = 0; i < count; i++) {
        printf(" %5.5s", lists[i].name);
    }
    printf("\n");
}

int packing_print(char *const *paths, int count)
{
    struct packing_list *lists = calloc((size_t)count + 1, sizeof *lists);
    CHECK(lists != NULL);
    bool is_read = true;
    for (int i = 0; i < count && is_read; i++) {
        is_read = read_list(paths[i], &lists[i]);
    }
    if (is_read) {
        print_head(lists, count);
        for (size_t i = 0; subjects[i] != NULL; i++) {
            print_subject(subjects[i], lists, count);
        }
        for (size_t i = 0; policies[i].name != NULL; i++) {
            print_subject(&policies[i], lists, count);
        }
    }
    for (int i = 0; i < count; i++) {
        free(lists[i].ops);
    }
    free(lists);
    return is_read ? 0 : 2;
}
