#include "targets/threaded/heap.h"

#include <stdio.h>

const struct target_option_row threaded_option_rows[] = {
    THREADED_OPTION_ROWS,
    {.key = NULL},
};

static bool read_contract(const struct target_setup *setup, struct target_contract *contract,
                          const struct option_reason *reason)
{
    *contract = (struct target_contract){
        .granule_bytes = setup->granule_bytes != 0 ? setup->granule_bytes : 512,
        .defrag = DEFRAG_SLIDE,
        .queues_frees = true,
        .drains = true,
        .programs = true,
        .evicts = true,
        .thread_safe = true,
    };
    if (!target_options_read(threaded_option_rows, setup, contract, reason->text, reason->bytes)) {
        return false;
    }
    unsigned count = 0;
    contract->order[count++] = MITIGATION_DRAIN;
    if (contract->defrag != DEFRAG_NONE) {
        contract->order[count++] = MITIGATION_DEFRAGMENT;
    }
    contract->order[count++] = MITIGATION_EVICT;
    return option_check_device(setup->capacity_bytes, contract->granule_bytes, reason);
}

static void init_heap(struct threaded_heap *heap, const struct target_setup *setup,
                      const struct target_contract *contract, const struct device_services *device)
{
    *heap = (struct threaded_heap){
        .device = *device,
        .capacity_bytes = setup->capacity_bytes,
        .granule_bytes = contract->granule_bytes,
        .moves = contract->defrag != DEFRAG_NONE,
        .evicts = contract->evicts,
        .program_evicts_program = contract->program_evicts_program,
        .stats = {.bytes_limit = setup->capacity_bytes,
                  .bytes_reservable_limit = setup->capacity_bytes},
    };
    (void)pthread_mutex_init(&heap->lock, NULL);
    (void)pthread_mutex_init(&heap->queue_lock, NULL);
    (void)pthread_cond_init(&heap->settled, NULL);
    (void)pthread_cond_init(&heap->finished, NULL);
}

enum target_result threaded_open(enum threaded_race race, const struct target_setup *setup,
                                 const struct device_services *device, struct target_instance **out,
                                 struct target_contract *contract, char *text, size_t text_bytes)
{
    const struct option_reason reason = {text, text_bytes};
    struct target_contract declared;
    if (!read_contract(setup, &declared, &reason)) {
        return TARGET_INVALID;
    }
    struct target_instance *instance = device->host_alloc(device->context, sizeof *instance);
    if (instance == NULL) {
        (void)snprintf(text, text_bytes, "the host memory for the allocator was refused");
        return TARGET_FAILED;
    }
    if (pthread_key_create(&instance->message, NULL) != 0) {
        (void)snprintf(text, text_bytes, "the process has no key left for a thread's messages");
        device->host_free(device->context, instance, sizeof *instance);
        return TARGET_FAILED;
    }
    init_heap(&instance->heap, setup, &declared, device);
    instance->heap.race = race;
    *contract = declared;
    *out = instance;
    return TARGET_OK;
}

void threaded_close(struct target_instance *instance)
{
    struct threaded_heap *heap = &instance->heap;
    const struct device_services device = heap->device;
    threaded_clear(heap);
    (void)pthread_cond_destroy(&heap->finished);
    (void)pthread_cond_destroy(&heap->settled);
    (void)pthread_mutex_destroy(&heap->queue_lock);
    (void)pthread_mutex_destroy(&heap->lock);
    (void)pthread_key_delete(instance->message);
    device.host_free(device.context, instance, sizeof *instance);
}
