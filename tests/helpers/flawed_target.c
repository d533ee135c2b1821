/* libhbm with one flaw that shows only when the device refuses something: the option flaw=… says
 * which.  Tests of the sweep link it, and load it as a plug-in.  One instance at a time: what a
 * flaw remembers is kept here. */
#include "targets/targets.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum flaw {
    FLAW_NONE,
    FLAW_COUNTERS,    /* after a call that failed one block too many is counted */
    FLAW_CONTENTS,    /* a copy that is refused is made in part all the same */
    FLAW_STATUS,      /* a request that failed is said to have succeeded, where the last block is */
    FLAW_STUCK,       /* after a request failed each one fails */
    FLAW_SILENT,      /* a call that failed has no text */
    FLAW_OPEN_LEAK,   /* an open that fails keeps some host memory */
    FLAW_OPEN_SILENT, /* an open that fails does not say why */
    FLAW_CRASH,       /* refused host memory is written to */
    FLAW_LOOP,        /* refused host memory is asked for again and again; the file that
                         FLAWED_TARGET_LOOPS names is there then */
    FLAW_STALL,       /* COUNTERS, and LOOP: it ends behind what the refusals before it break */
    FLAW_COUNT
};
static const char *const names[FLAW_COUNT] = {"none",  "counters", "contents",  "status",
                                              "stuck", "silent",   "open_leak", "open_silent",
                                              "crash", "loop",     "stall"};
enum { LEAK_BYTES = 64 };

static struct {
    enum flaw flaw;
    const struct device_services *device; /* the harness's */
    struct device_services bent;
    struct target_block last;
    bool has_failed, is_open;
} state;

static enum target_result note_result(enum target_result result)
{
    state.has_failed |= result == TARGET_FAILED;
    return result;
}

/* --- the device, as libhbm sees it --- */

static enum device_result bent_copy(void *context, uint64_t from, uint64_t to, uint64_t bytes)
{
    const enum device_result result = state.device->copy(context, from, to, bytes);
    if (result == DEVICE_REFUSED && state.flaw == FLAW_CONTENTS) {
        (void)state.device->copy(context, from, to, bytes / 2);
    }
    return result;
}

/* By a file: nobody hears what a target prints. */
static void tell_loop(void)
{
    const char *path = getenv("FLAWED_TARGET_LOOPS");
    const int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) {
        close(file);
    }
}

static void *bent_host_alloc(void *context, size_t bytes)
{
    void *memory = state.device->host_alloc(context, bytes);
    if (memory == NULL && state.is_open && state.flaw == FLAW_CRASH) {
        abort();
    }
    const bool loops = memory == NULL && state.is_open &&
                       (state.flaw == FLAW_LOOP || state.flaw == FLAW_STALL);
    if (loops) {
        tell_loop();
    }
    while (loops) {
        (void)state.device->clock_ns(context);
    }
    return memory;
}

/* --- calls of the harness --- */

static void take_flaw(const struct target_option *option)
{
    for (unsigned i = 0; i < FLAW_COUNT; i++) {
        if (strcmp(option->value, names[i]) == 0) {
            state.flaw = (enum flaw)i;
        }
    }
}

static enum target_result open_inner(const struct target_setup *setup,
                                     struct target_instance **instance,
                                     struct target_contract *contract, char *reason,
                                     size_t reason_bytes)
{
    struct target_option options[16];
    struct target_setup inner = *setup;
    inner.options = options;
    inner.option_count = 0;
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (strcmp(setup->options[i].key, "flaw") != 0) {
            options[inner.option_count++] = setup->options[i];
        } else {
            take_flaw(&setup->options[i]);
        }
    }
    return target_hbm.open(&inner, &state.bent, instance, contract, reason, reason_bytes);
}

/* The device gives back what is left when it goes. */
static void leak_host_memory(const struct device_services *device)
{
    if (state.flaw == FLAW_OPEN_LEAK) {
        (void)device->host_alloc(device->context, LEAK_BYTES);
    }
}

static enum target_result flawed_open(const struct target_setup *setup,
                                      const struct device_services *device,
                                      struct target_instance **instance,
                                      struct target_contract *contract, char *reason,
                                      size_t reason_bytes)
{
    memset(&state, 0, sizeof state);
    state.device = device;
    state.bent = *device;
    state.bent.copy = bent_copy;
    state.bent.host_alloc = bent_host_alloc;
    const enum target_result result = open_inner(setup, instance, contract, reason, reason_bytes);
    state.is_open = result == TARGET_OK;
    if (result != TARGET_OK) {
        leak_host_memory(device);
        reason[0] = state.flaw == FLAW_OPEN_SILENT ? '\0' : reason[0];
    }
    return result;
}

static enum target_result flawed_alloc(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    if (state.flaw == FLAW_STUCK && state.has_failed) {
        return TARGET_FAILED;
    }
    enum target_result result = note_result(target_hbm.alloc(instance, request, block));
    if (state.flaw == FLAW_STATUS && result == TARGET_FAILED) {
        *block = (struct target_block){.handle = state.last.handle + 1,
                                       .address = state.last.address,
                                       .size_bytes = (request->size_bytes + 511) / 512 * 512};
        result = TARGET_OK;
    }
    state.last = result == TARGET_OK ? *block : state.last;
    return result;
}

static enum target_result flawed_use(struct target_instance *instance, uint64_t handle,
                                     uint64_t event)
{
    return note_result(target_hbm.use(instance, handle, event));
}

static enum target_result flawed_free(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    return note_result(target_hbm.free(instance, handle, event));
}

static enum target_result flawed_load(struct target_instance *instance,
                                      const struct target_program *program,
                                      struct target_block *image)
{
    return note_result(target_hbm.load(instance, program, image));
}

static enum target_result flawed_execute(struct target_instance *instance, uint64_t handle,
                                         uint64_t event, struct target_block *image)
{
    return note_result(target_hbm.execute(instance, handle, event, image));
}

static void flawed_stats(struct target_instance *instance, struct target_stats *stats)
{
    target_hbm.stats(instance, stats);
    stats->num_allocs += (state.flaw == FLAW_COUNTERS || state.flaw == FLAW_STALL) &&
                         state.has_failed;
}

static const char *flawed_message(struct target_instance *instance)
{
    return state.flaw == FLAW_SILENT && state.has_failed ? "" : target_hbm.message(instance);
}

/* libhbm's table with the calls above in it: filled before main, because another file's constant
 * cannot be copied earlier. */
struct target hbmstress_target;

__attribute__((constructor)) static void table_fill(void)
{
    hbmstress_target = target_hbm;
    hbmstress_target.name = "flawed";
    hbmstress_target.summary = "libhbm with a flaw that a refused device call brings out";
    hbmstress_target.options = NULL;
    hbmstress_target.option_help =
        "flaw=none|counters|contents|status|stuck|silent|open_leak|open_silent|crash|loop|stall\n";
    hbmstress_target.open = flawed_open;
    hbmstress_target.alloc = flawed_alloc;
    hbmstress_target.use = flawed_use;
    hbmstress_target.free = flawed_free;
    hbmstress_target.load = flawed_load;
    hbmstress_target.execute = flawed_execute;
    hbmstress_target.stats = flawed_stats;
    hbmstress_target.message = flawed_message;
}
