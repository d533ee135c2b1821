#include "allocator/private/program.h"

#include <string.h>

#include "allocator/private/heap.h"

static void remove_from_list(struct hbm *hbm, struct hbm_program *program)
{
    if (program->previous == NULL) {
        HBM_CHECK(hbm->program_first == program);
        hbm->program_first = program->next;
    } else {
        program->previous->next = program->next;
    }
    if (program->next == NULL) {
        HBM_CHECK(hbm->program_last == program);
        hbm->program_last = program->previous;
    } else {
        program->next->previous = program->previous;
    }
}

static void append_to_list(struct hbm *hbm, struct hbm_program *program)
{
    program->previous = hbm->program_last;
    program->next = NULL;
    if (hbm->program_last == NULL) {
        HBM_CHECK(hbm->program_first == NULL);
        hbm->program_first = program;
    } else {
        hbm->program_last->next = program;
    }
    hbm->program_last = program;
    HBM_CHECK(hbm->program_first != NULL);
}

struct hbm_program *hbm_program_create(struct hbm *hbm, const struct hbm_program_request *request)
{
    const char *name = request->name == NULL ? "" : request->name;
    const size_t name_bytes = strlen(name) + 1;
    struct hbm_program *program = hbm_host_array(&hbm->host, 1, sizeof *program + name_bytes);
    if (program == NULL) {
        return NULL;
    }
    *program = (struct hbm_program){.id = request->id,
                                    .image_bytes = request->image_bytes,
                                    .stack_bytes = request->stack_bytes};
    memcpy(program->name, name, name_bytes);
    append_to_list(hbm, program);
    HBM_CHECK(program->block == HBM_POOL_NONE);
    HBM_CHECK(program->pin_count == 0);
    return program;
}

void hbm_program_destroy(struct hbm *hbm, struct hbm_program *program)
{
    remove_from_list(hbm, program);
    hbm_host_free(&hbm->host, program, 1, sizeof *program + strlen(program->name) + 1);
}

void hbm_stack_settle(struct hbm *hbm)
{
    const bool set = hbm_heap_stack_set(&hbm->heap, hbm_stack_needed(hbm));
    HBM_CHECK(set);
    HBM_CHECK(hbm_heap_reserved(&hbm->heap) <= hbm->options.capacity_bytes);
}

uint64_t hbm_stack_needed(const struct hbm *hbm)
{
    uint64_t needed_bytes = 0;
    for (const struct hbm_program *program = hbm->program_first; program != NULL;
         program = program->next) {
        if (program->block == HBM_POOL_NONE || program->stack_bytes <= needed_bytes) {
            continue;
        }
        if (hbm_heap_at(&hbm->heap, program->block)->in_use) {
            needed_bytes = program->stack_bytes;
        }
    }
    return hbm_align_up(needed_bytes, hbm->heap.granule_shift);
}

void hbm_program_touch(struct hbm *hbm, struct hbm_program *program)
{
    remove_from_list(hbm, program);
    append_to_list(hbm, program);
}
