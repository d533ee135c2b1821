#include "formats/common/heap_parts.h"

#include <string.h>

void heap_parts_init(struct heap_parts *parts)
{
    *parts = (struct heap_parts){0};
    heap_image_init(&parts->image);
}

void heap_parts_deinit(struct heap_parts *parts)
{
    heap_image_deinit(&parts->image);
}

void heap_parts_begin_host(struct heap_parts *parts, uint8_t host)
{
    parts->host = host;
    parts->end_bytes = 0;
}

void heap_parts_add(struct heap_parts *parts, struct import *import, const char *name,
                    uint64_t size_bytes, enum heap_span_state state)
{
    if (size_bytes == 0) {
        return;
    }
    const struct heap_span span = {
        .address = parts->end_bytes,
        .size_bytes = size_bytes,
        .state = state,
        .host = parts->host,
        .tag = state == HEAP_SPAN_FREE
                   ? 0
                   : tag_table_add(&parts->tags, &import->setup, name, strlen(name)),
    };
    parts->end_bytes += size_bytes;
    import->view = IMPORT_SUMS;
    heap_image_add(&parts->image, &span);
}
