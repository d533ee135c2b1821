/* Questions of packing, built item by item and bin by bin, and their answers by trying all. */
#ifndef TESTS_HARNESS_PACKING_PACKING_LIST_H
#define TESTS_HARNESS_PACKING_PACKING_LIST_H

#include "harness/base/random.h"
#include "harness/oracle/packing/packing.h"

enum { LIST_ITEMS_MAX = 400, LIST_BINS_MAX = 17, GRANULE = 512 };

struct packing_list {
    struct packing_bin bins[LIST_BINS_MAX];
    struct packing_item items[LIST_ITEMS_MAX];
    size_t bin_count, item_count;
};

/* Sizes in granules; bins lie a granule apart. */
void list_add_items(struct packing_list *list, uint64_t size, size_t count);
void list_add_bin(struct packing_list *list, uint64_t length);
/* Alignments of 1, 2, 4 and 8 granules with these weights. */
void list_draw_alignments(struct packing_list *list, struct random *random,
                          const uint32_t weights[4]);

/* Each test has one: EVERY_TEST(.setup = packing_begin, .teardown = packing_end). */
extern struct packing *packing;
void packing_begin(void);
void packing_end(void);

/* With a proof. */
struct packing_problem list_question(const struct packing_list *list, uint64_t nodes_max);
/* The answer, whose proof holds, and which took no more nodes. */
struct packing_answer list_answer(const struct packing_list *list, uint64_t nodes_max);
/* Every assignment of items to bins; no alignments. */
bool list_fits(const struct packing_list *list);

#endif
