#include "campaign/process/death.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The objects of this process, as far as they were looked at; NULL: not yet. */
static Dwfl *objects;

/* The symbols that were found last: a target that dies in one place dies there a thousand times
 * while its list is shrunk. */
enum { KNOWN_COUNT = 64 };
static struct {
    uintptr_t address;
    struct symbol symbol;
} known[KNOWN_COUNT];
static unsigned known_next;

/* Finds no separate file: an object's own data must do, as a search can lead to the network. */
static int find_no_debuginfo(Dwfl_Module *module, void **user_data, const char *module_name,
                             Dwarf_Addr base, const char *file_name, const char *debuglink_file,
                             GElf_Word debuglink_crc, char **debuginfo_file_name)
{
    (void)module;
    (void)user_data;
    (void)module_name;
    (void)base;
    (void)file_name;
    (void)debuglink_file;
    (void)debuglink_crc;
    (void)debuginfo_file_name;
    return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                         .find_debuginfo = find_no_debuginfo};

void symbols_close(void)
{
    if (objects != NULL) {
        dwfl_end(objects);
    }
    objects = NULL;
}

/* Looks at what is loaded now. */
static void report_objects(void)
{
    symbols_close();
    objects = dwfl_begin(&callbacks);
    if (objects != NULL && (dwfl_linux_proc_report(objects, getpid()) != 0 ||
                            dwfl_report_end(objects, NULL, NULL) != 0)) {
        symbols_close();
    }
}

/* NULL: nothing is known of the object that is there. */
static Dwfl_Module *find_module(uintptr_t address)
{
    Dwfl_Module *module = objects == NULL ? NULL : dwfl_addrmodule(objects, address);
    if (module == NULL) { /* a plug-in may have come since */
        report_objects();
        module = objects == NULL ? NULL : dwfl_addrmodule(objects, address);
    }
    return module;
}

static const char *cut_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Compilers mark their variants of a function behind a dot: "copy_torn.lto_priv.0" is copy_torn. */
static void copy_name(const char *name, char to[SYMBOL_BYTES])
{
    const size_t length = strcspn(name, ".");
    snprintf(to, SYMBOL_BYTES, "%.*s", (int)(length < SYMBOL_BYTES ? length : SYMBOL_BYTES - 1),
             name);
}

/* A name that stands before the address, and not over it, is none. */
static bool find_name(Dwfl_Module *module, uintptr_t address, char name[SYMBOL_BYTES])
{
    GElf_Off offset = 0;
    GElf_Sym table_entry;
    const char *found = dwfl_module_addrinfo(module, address, &offset, &table_entry, NULL, NULL,
                                             NULL);
    if (found == NULL || GELF_ST_TYPE(table_entry.st_info) != STT_FUNC ||
        offset >= table_entry.st_size) {
        return false;
    }
    copy_name(found, name);
    return true;
}

static void find_line(Dwfl_Module *module, uintptr_t address, struct symbol *symbol)
{
    int line = 0;
    Dwfl_Line *place = dwfl_module_getsrc(module, address);
    const char *file = place == NULL ? NULL : dwfl_lineinfo(place, NULL, &line, NULL, NULL, NULL);
    if (file != NULL && line > 0) {
        snprintf(symbol->file, sizeof symbol->file, "%.90s", cut_folder(file));
        symbol->line = (uint32_t)line;
    }
}

static bool find_anew(uintptr_t address, struct symbol *symbol)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) {
        return false;
    }
    *symbol = (struct symbol){.is_of_program = map->l_name[0] == '\0'};
    snprintf(symbol->object, sizeof symbol->object, "%.60s", cut_folder(info.dli_fname));
    Dwfl_Module *module = find_module(address);
    if (module == NULL || !find_name(module, address, symbol->name)) {
        snprintf(symbol->name, sizeof symbol->name, "%.60s+0x%" PRIxPTR, symbol->object,
                 address - map->l_addr);
    }
    if (module != NULL) {
        find_line(module, address, symbol);
    }
    return true;
}

bool symbol_find(uintptr_t address, struct symbol *symbol)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (known[i].address == address && address != 0) {
            *symbol = known[i].symbol;
            return true;
        }
    }
    if (!find_anew(address, symbol)) {
        return false;
    }
    known[known_next].address = address;
    known[known_next].symbol = *symbol;
    known_next = (known_next + 1) % KNOWN_COUNT;
    return true;
}
