#include "diagnosis/what_if_row.h"

const char *what_if_end_name(enum what_if_end end)
{
    static const char *const names[] = {[WHAT_IF_FITS] = "fits",
                                        [WHAT_IF_NO_MEMORY] = "out of memory",
                                        [WHAT_IF_BROKEN] = "broken",
                                        [WHAT_IF_REFUSED] = "refused",
                                        [WHAT_IF_DOES_NOT_APPLY] = "does not apply"};
    return names[end];
}

uint64_t what_if_headroom_bytes(const struct what_if_row *row)
{
    return row->end == WHAT_IF_FITS ? row->headroom_bytes : 0;
}
