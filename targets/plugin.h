/* Loads a target from a shared object that exports `hbmstress_target` (harness/target.h), and
 * refuses what does not keep to that header with one line that says why. */
#ifndef TARGETS_PLUGIN_H
#define TARGETS_PLUGIN_H

#include "harness/target.h"

enum plugin_result {
    PLUGIN_OK = 0,
    PLUGIN_MISSING,    /* no such file, or it cannot be read */
    PLUGIN_UNLOADABLE, /* not a shared object for this machine, or it lacks what it needs */
    PLUGIN_NO_SYMBOL,  /* it exports no hbmstress_target */
    PLUGIN_OTHER_ABI,
    PLUGIN_TOO_SMALL,   /* its table is shorter than struct target */
    PLUGIN_LACKS_CALL,  /* a required field is NULL */
    PLUGIN_INCONSISTENT /* some calls of a group are there and others are not */
};
enum { PLUGIN_REASON_BYTES = 512 };

/* A loaded shared object.  Zero-initialise; plugin_unload undoes plugin_load. */
struct plugin {
    void *library;
    const struct target *target; /* its table, valid until plugin_unload */
};

/* Returns true when name is a file of a plug-in rather than a registered target: it has a '/' or
 * ends in ".so", and is no name of an adapter (targets/adapters/adapters.h). */
bool plugin_is_named(const char *name);

/* Loads path (a name without '/' is looked for in the working directory) and checks its table.  On
 * failure *plugin is unchanged, nothing stays loaded and reason is one line that names the file. */
enum plugin_result plugin_load(struct plugin *plugin, const char *path,
                               char reason[PLUGIN_REASON_BYTES]);
/* Call it only after every instance of the target is closed. */
void plugin_unload(struct plugin *plugin);

/* The checks alone, as for any table: required fields, groups that belong together.  reason gets no
 * file name. */
enum plugin_result plugin_check_table(const struct target *target,
                                      char reason[PLUGIN_REASON_BYTES]);

#endif
