#include "targets/plugin.h"

#include "targets/adapters/adapters.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool plugin_is_named(const char *name)
{
    const size_t length = strlen(name);
    return !adapter_is_named(name) &&
           (strchr(name, '/') != NULL || (length > 3 && strcmp(name + length - 3, ".so") == 0));
}

/* --- the table --- */

/* A member that may not be NULL (group 0), or one of a group that is there as a whole or not at
 * all. */
struct table_member {
    const char *name;
    unsigned group;
    bool is_set;
};

/* Requires the members of group 0, and of each other group all or none. */
static enum plugin_result check_groups(const struct table_member *members, size_t count,
                                       char reason[PLUGIN_REASON_BYTES])
{
    for (size_t i = 0; i < count; i++) {
        if (members[i].group == 0 && !members[i].is_set) {
            (void)snprintf(reason, PLUGIN_REASON_BYTES,
                           "hbmstress_target lacks %s, which is required", members[i].name);
            return PLUGIN_LACKS_CALL;
        }
    }
    for (size_t first = 0, next = 0; first < count; first = next) {
        const char *present = NULL, *absent = NULL;
        for (; next < count && members[next].group == members[first].group; next++) {
            *(members[next].is_set ? &present : &absent) = members[next].name;
        }
        if (present != NULL && absent != NULL) {
            (void)snprintf(reason, PLUGIN_REASON_BYTES,
                           "hbmstress_target has %s but not %s; they belong together", present,
                           absent);
            return PLUGIN_INCONSISTENT;
        }
    }
    return PLUGIN_OK;
}

static enum plugin_result check_members(const struct target *target,
                                        char reason[PLUGIN_REASON_BYTES])
{
#define MEMBER(group, name)                \
    {                                      \
#name, group, target->name != NULL \
    }
#define CALL(group, name)                       \
    {                                           \
#name "()", group, target->name != NULL \
    }
    const struct table_member members[] = {
        MEMBER(0, name), MEMBER(0, summary),    CALL(0, open),       CALL(0, close),
        CALL(0, alloc),  CALL(0, free),         CALL(0, stats),      CALL(0, message),
        CALL(1, hold),   CALL(1, release),      CALL(2, load),       CALL(2, execute),
        CALL(2, unload), CALL(3, read),         CALL(3, write),      CALL(4, sleep),
        CALL(4, wake),   CALL(5, record_begin), CALL(5, record_end), CALL(5, record_drop)};
#undef MEMBER
#undef CALL
    const enum plugin_result result = check_groups(members, sizeof members / sizeof members[0],
                                                   reason);
    if (result == PLUGIN_OK && target->defragment != NULL && target->locate == NULL) {
        (void)snprintf(
            reason, PLUGIN_REASON_BYTES,
            "hbmstress_target has defragment() but not locate(), which reports where blocks went");
        return PLUGIN_INCONSISTENT;
    }
    return result;
}

enum plugin_result plugin_check_table(const struct target *target, char reason[PLUGIN_REASON_BYTES])
{
    /* The first two fields are the same in every version; nothing else is read before they are
     * right. */
    if (target->abi_version != TARGET_ABI_VERSION) {
        (void)snprintf(reason, PLUGIN_REASON_BYTES,
                       "it was built for ABI version %u, but this program loads version %u: build "
                       "it again",
                       target->abi_version, TARGET_ABI_VERSION);
        return PLUGIN_OTHER_ABI;
    }
    if (target->size_bytes < sizeof *target) {
        (void)snprintf(
            reason, PLUGIN_REASON_BYTES,
            "its hbmstress_target has %u bytes, but in ABI version %u it has %zu: set size_bytes to "
            "sizeof(struct target)",
            target->size_bytes, target->abi_version, sizeof *target);
        return PLUGIN_TOO_SMALL;
    }
    return check_members(target, reason);
}

/* --- the file --- */

/* The machine that an ELF file is for, 0 of another file. */
static unsigned read_machine(int file)
{
    Elf64_Ehdr header; /* of files for 32 bits, too, the machine stands there */
    return pread(file, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                   memcmp(header.e_ident, ELFMAG, SELFMAG) == 0
               ? header.e_machine
               : EM_NONE;
}

/* The loader says only "cannot open" of a file for another machine. */
static bool is_foreign(int file, char reason[PLUGIN_REASON_BYTES])
{
    const int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const unsigned wanted = own < 0 ? EM_NONE : read_machine(own), found = read_machine(file);
    if (own >= 0) {
        (void)close(own);
    }
    if (wanted == EM_NONE || found == EM_NONE || found == wanted) {
        return false;
    }
    (void)snprintf(reason, PLUGIN_REASON_BYTES,
                   "it is for another machine: number %u of ELF, and this program is for %u", found,
                   wanted);
    return true;
}

static enum plugin_result check_file(const char *path, char reason[PLUGIN_REASON_BYTES])
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0) {
        (void)snprintf(reason, PLUGIN_REASON_BYTES, "%s", strerror(errno));
        if (file >= 0) {
            (void)close(file);
        }
        return PLUGIN_MISSING;
    }
    const bool is_regular = S_ISREG(status.st_mode);
    const bool is_refused = is_regular && is_foreign(file, reason);
    (void)close(file);
    if (is_regular) {
        return is_refused ? PLUGIN_UNLOADABLE : PLUGIN_OK;
    }
    (void)snprintf(reason, PLUGIN_REASON_BYTES, "%s",
                   S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file");
    return PLUGIN_UNLOADABLE;
}

/* Copies the text of dlerror as one line. */
static void copy_line(char reason[PLUGIN_REASON_BYTES], const char *before, const char *text)
{
    (void)snprintf(reason, PLUGIN_REASON_BYTES, "%s%s", before,
                   text == NULL ? "unknown reason" : text);
    for (char *c = reason; *c != '\0'; c++) {
        *c = *c == '\n' || *c == '\r' ? ' ' : *c;
    }
}

static enum plugin_result load_library(struct plugin *plugin, const char *path,
                                       char reason[PLUGIN_REASON_BYTES])
{
    char place[PATH_MAX];
    enum plugin_result result = check_file(path, reason);
    if (result != PLUGIN_OK) {
        return result;
    }
    /* Without a '/' dlopen would search the system's folders. */
    (void)snprintf(place, sizeof place, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    void *library = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        copy_line(reason, "it cannot be loaded as a shared object: ", dlerror());
        return PLUGIN_UNLOADABLE;
    }
    const struct target *target = dlsym(library, "hbmstress_target");
    if (target == NULL) {
        (void)snprintf(reason, PLUGIN_REASON_BYTES,
                       "it does not export the symbol hbmstress_target, which KIT_TARGET defines");
        result = PLUGIN_NO_SYMBOL;
    } else {
        result = plugin_check_table(target, reason);
    }
    if (result != PLUGIN_OK) {
        (void)dlclose(library);
        return result;
    }
    *plugin = (struct plugin){library, target};
    return PLUGIN_OK;
}

enum plugin_result plugin_load(struct plugin *plugin, const char *path,
                               char reason[PLUGIN_REASON_BYTES])
{
    char why[PLUGIN_REASON_BYTES] = "";
    const enum plugin_result result = load_library(plugin, path, why);
    if (result != PLUGIN_OK) {
        const int used = snprintf(reason, PLUGIN_REASON_BYTES, "cannot use %.200s: ", path);
        (void)snprintf(reason + used, PLUGIN_REASON_BYTES - (size_t)used, "%.250s", why);
    }
    return result;
}

void plugin_unload(struct plugin *plugin)
{
    if (plugin->library != NULL) {
        (void)dlclose(plugin->library);
    }
    *plugin = (struct plugin){0};
}
