#include "tests/harness/packing/packing_list.h"

#include "tests/harness/packing/packing_proof.h"

#include <check.h>

void list_add_items(struct packing_list *list, uint64_t size, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_lt(list->item_count, LIST_ITEMS_MAX);
        list->items[list->item_count++] = (struct packing_item){size * GRANULE, GRANULE};
    }
}

void list_add_bin(struct packing_list *list, uint64_t length)
{
    const size_t i = list->bin_count++;
    ck_assert_uint_lt(i, LIST_BINS_MAX);
    const uint64_t start = i == 0 ? 0 : list->bins[i - 1].end + GRANULE;
    list->bins[i] = (struct packing_bin){start, start + length * GRANULE};
}

void list_draw_alignments(struct packing_list *list, struct random *random,
                          const uint32_t weights[4])
{
    for (size_t i = 0; i < list->item_count; i++) {
        list->items[i].align_bytes = (uint64_t)GRANULE << random_weighted(random, weights, 4);
    }
}

struct packing *packing;

void packing_begin(void)
{
    packing = packing_create();
}

void packing_end(void)
{
    packing_destroy(packing);
}

struct packing_problem list_question(const struct packing_list *list, uint64_t nodes_max)
{
    return (struct packing_problem){.bins = list->bins,
                                    .bin_count = list->bin_count,
                                    .items = list->items,
                                    .item_count = list->item_count,
                                    .granule_bytes = GRANULE,
                                    .nodes_max = nodes_max,
                                    .wants_proof = true};
}

struct packing_answer list_answer(const struct packing_list *list, uint64_t nodes_max)
{
    struct packing_answer answer;
    const struct packing_problem question = list_question(list, nodes_max);
    packing_solve(packing, &question, &answer);
    const char *fault = packing_proof_fault(packing, &question, &answer);
    ck_assert_msg(fault == NULL, "%s: %s", packing_method_name(answer.method), fault);
    ck_assert_uint_le(answer.nodes, nodes_max);
    return answer;
}

static bool fits_from(const struct packing_list *list, size_t item, uint64_t *left)
{
    bool fits = item == list->item_count;
    for (size_t bin = 0; bin < list->bin_count && !fits; bin++) {
        const uint64_t size = list->items[item].size_bytes;
        if (left[bin] >= size) {
            left[bin] -= size;
            fits = fits_from(list, item + 1, left);
            left[bin] += size;
        }
    }
    return fits;
}

bool list_fits(const struct packing_list *list)
{
    uint64_t left[LIST_BINS_MAX];
    for (size_t i = 0; i < list->bin_count; i++) {
        left[i] = list->bins[i].end - list->bins[i].start;
    }
    return fits_from(list, 0, left);
}
