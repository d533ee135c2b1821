#include "allocator/private/host.h"

#include "allocator/private/check.h"

void *hbm_host_array(struct hbm_host *host, size_t count, size_t element_bytes)
{
    HBM_CHECK(host->services.host_alloc != NULL);
    size_t bytes;
    if (__builtin_mul_overflow(count, element_bytes, &bytes) || bytes == 0) {
        return NULL;
    }
    void *memory = host->services.host_alloc(host->services.context, bytes);
    if (memory != NULL) {
        host->bytes += bytes;
        HBM_CHECK(host->bytes >= bytes);
    }
    return memory;
}

void hbm_host_free(struct hbm_host *host, void *memory, size_t count, size_t element_bytes)
{
    if (memory == NULL) {
        return;
    }
    HBM_CHECK(element_bytes != 0);
    HBM_CHECK(count <= host->bytes / element_bytes);
    host->bytes -= count * element_bytes;
    host->services.host_free(host->services.context, memory, count * element_bytes);
}
