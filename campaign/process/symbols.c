#include "campaign/process/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* An object's file, to be read only within [bytes, bytes + length). */
struct object_file {
    const unsigned char *bytes;
    size_t length;
};

static bool object_open(const char *path, struct object_file *file)
{
    struct stat status;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    void *memory = MAP_FAILED;
    if (fstat(descriptor, &status) == 0 && status.st_size >= (off_t)sizeof(ElfW(Ehdr))) {
        memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    close(descriptor);
    if (memory == MAP_FAILED) {
        return false;
    }
    *file = (struct object_file){memory, (size_t)status.st_size};
    return true;
}

/* The bytes of a section, or of the table of sections; NULL when they are not all there. */
static const void *object_part(const struct object_file *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->length && bytes <= file->length - offset ? file->bytes + offset : NULL;
}

static bool has_address(const ElfW(Sym) * symbol, uintptr_t offset)
{
    return (symbol->st_info & 0xF) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_value <= offset && offset - symbol->st_value < symbol->st_size;
}

/* Compilers mark their variants of a function behind a dot: "copy_torn.lto_priv.0" is copy_torn. */
static void copy_name(const char *name, size_t name_bytes_max, char to[SYMBOL_BYTES])
{
    size_t length = strnlen(name, name_bytes_max);
    const char *dot = memchr(name, '.', length);
    length = dot == NULL ? length : (size_t)(dot - name);
    snprintf(to, SYMBOL_BYTES, "%.*s", (int)(length < SYMBOL_BYTES ? length : SYMBOL_BYTES - 1),
             name);
}

static bool search_table(const struct object_file *file, const ElfW(Shdr) * table,
                         const ElfW(Shdr) * strings, uintptr_t offset, char name[SYMBOL_BYTES])
{
    const ElfW(Sym) *symbols = object_part(file, table->sh_offset, table->sh_size);
    const char *texts = object_part(file, strings->sh_offset, strings->sh_size);
    if (symbols == NULL || texts == NULL) {
        return false;
    }
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if (has_address(&symbols[i], offset) && symbols[i].st_name < strings->sh_size) {
            copy_name(texts + symbols[i].st_name, strings->sh_size - symbols[i].st_name, name);
            return true;
        }
    }
    return false;
}

/* The full table if the file has it; the one for linking names no static function. */
static bool search_file(const struct object_file *file, uintptr_t offset, char name[SYMBOL_BYTES])
{
    const ElfW(Ehdr) *head = (const void *)file->bytes;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_shentsize != sizeof(ElfW(Shdr))) {
        return false;
    }
    const ElfW(Shdr) *sections = object_part(file, head->e_shoff,
                                             (uint64_t)head->e_shnum * sizeof *sections);
    const unsigned types[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (size_t k = 0; k < 2 && sections != NULL; k++) {
        for (size_t i = 0; i < head->e_shnum; i++) {
            if (sections[i].sh_type == types[k] && sections[i].sh_link < head->e_shnum &&
                search_table(file, &sections[i], &sections[sections[i].sh_link], offset, name)) {
                return true;
            }
        }
    }
    return false;
}

bool symbol_find(uintptr_t address, struct symbol *symbol)
{
    Dl_info info;
    struct link_map *map = NULL;
    struct object_file file;
    if (dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) {
        return false;
    }
    symbol->is_of_program = map->l_name[0] == '\0';
    const char *path = symbol->is_of_program ? "/proc/self/exe" : map->l_name;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(symbol->object, sizeof symbol->object, "%.60s",
             slash == NULL ? info.dli_fname : slash + 1);
    const uintptr_t offset = address - map->l_addr;
    bool is_named = false;
    if (object_open(path, &file)) {
        is_named = search_file(&file, offset, symbol->name);
        (void)munmap((void *)(uintptr_t)file.bytes, file.length);
    }
    if (!is_named) {
        snprintf(symbol->name, sizeof symbol->name, "%.60s+0x%" PRIxPTR, symbol->object, offset);
    }
    return true;
}
