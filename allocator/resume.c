#include "allocator/private/resume.h"

/* True if a call is to be made again; a device that never ends counts as one that refused. */
static bool is_call_repeated(enum hbm_service_result result, unsigned *calls)
{
    return result == HBM_SERVICE_PARTIAL && ++*calls < HBM_PARTIAL_CALLS_MAX;
}

bool hbm_resume_copy(const struct hbm_services *services, uint64_t from, uint64_t to,
                     uint64_t bytes)
{
    enum hbm_service_result result;
    unsigned calls = 0;
    do {
        result = services->copy(services->context, from, to, bytes);
    } while (is_call_repeated(result, &calls));
    return result == HBM_SERVICE_OK;
}

bool hbm_resume_stage_in(const struct hbm_services *services, uint64_t token, uint64_t to,
                         uint64_t bytes)
{
    enum hbm_service_result result;
    unsigned calls = 0;
    do {
        result = services->stage_in(services->context, token, to, bytes);
    } while (is_call_repeated(result, &calls));
    return result == HBM_SERVICE_OK;
}

bool hbm_resume_unload(const struct hbm_services *services, uint64_t program_id)
{
    enum hbm_service_result result;
    unsigned calls = 0;
    do {
        result = services->unload(services->context, program_id);
    } while (is_call_repeated(result, &calls));
    return result == HBM_SERVICE_OK;
}
