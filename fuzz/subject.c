#include "fuzz/subject.h"

#include "fuzz/engine.h"
#include "harness/op/ops_file.h"
#include "harness/op/setup.h"
#include "targets/plugin.h"
#include "targets/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *subject_name(void)
{
    const char *name = getenv("HBMSTRESS_FUZZ_TARGET");
    return name == NULL || name[0] == '\0' ? "hbm" : name;
}

/* Refuses a target that a repro cannot name: nobody could replay its findings. */
static void refuse_unsayable(const char *path)
{
    if (ops_file_can_name(path)) {
        return;
    }
    (void)fprintf(
        stderr,
        "HBMSTRESS_FUZZ_TARGET: an op list cannot name '%s': a name has at most %d bytes, no blanks at "
        "its ends and no control characters\n",
        path, SETUP_VALUE_BYTES - 1);
    _exit(2); /* engines take a plain exit for a crash */
}

static const struct target *load_subject(const char *path)
{
    refuse_unsayable(path);
    static struct plugin plugin; /* stays loaded as long as the process */
    char reason[PLUGIN_REASON_BYTES];
    if (plugin_load(&plugin, path, reason) == PLUGIN_OK) {
        return plugin.target;
    }
    (void)fprintf(stderr, "HBMSTRESS_FUZZ_TARGET: %s\n", reason);
    _exit(2); /* engines take a plain exit for a crash */
}

const struct target *subject(void)
{
    static const struct target *found;
    if (found != NULL) {
        return found;
    }
    const char *name = subject_name();
    found = plugin_is_named(name) ? load_subject(name) : target_find(name);
    if (found == NULL) {
        (void)fprintf(
            stderr,
            "HBMSTRESS_FUZZ_TARGET: there is no target '%s'; hbmstress list targets names them\n",
            name);
        _exit(2);
    }
    return found;
}

int LLVMFuzzerInitialize(int *argument_count, char ***arguments)
{
    (void)argument_count, (void)arguments;
    (void)subject();
    return 0;
}
