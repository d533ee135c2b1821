#include "allocator/private/sort.h"

typedef bool comparison(const void *context, uint32_t left, uint32_t right);

static void sift_down(uint32_t *numbers, size_t root, size_t count, comparison *comes_before,
                      const void *context)
{
    const uint32_t moved = numbers[root];
    for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && comes_before(context, numbers[child], numbers[child + 1])) {
            child++;
        }
        if (!comes_before(context, moved, numbers[child])) {
            break;
        }
        numbers[root] = numbers[child];
        root = child;
    }
    numbers[root] = moved;
}

void hbm_sort(uint32_t *numbers, size_t count, comparison *comes_before, const void *context)
{
    for (size_t i = count / 2; i-- > 0;) {
        sift_down(numbers, i, count, comes_before, context);
    }
    for (size_t end = count; end-- > 1;) {
        const uint32_t last = numbers[end];
        numbers[end] = numbers[0];
        numbers[0] = last;
        sift_down(numbers, 0, end, comes_before, context);
    }
}
