#include "explore/private/scheduler_state.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A loaded file, as it lies on the disk. */
struct image {
    const unsigned char *bytes;
    size_t size_bytes;
};
/* The function that a place is in. */
struct function {
    const char *name; /* inside the image */
    uintptr_t start;  /* address in the image */
};

static bool open_image(struct image *image, const char *path)
{
    struct stat status;
    void *bytes = MAP_FAILED;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    if (fstat(file, &status) == 0 && status.st_size >= (off_t)sizeof(ElfW(Ehdr))) {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    }
    (void)close(file);
    if (bytes == MAP_FAILED) {
        return false;
    }
    *image = (struct image){bytes, (size_t)status.st_size};
    return true;
}

static void close_image(const struct image *image)
{
    (void)munmap((void *)(uintptr_t)image->bytes, image->size_bytes);
}

static bool is_within(const struct image *image, const ElfW(Shdr) * section)
{
    return section->sh_offset <= image->size_bytes &&
           section->sh_size <= image->size_bytes - section->sh_offset;
}

static bool table_find(const struct image *image, const ElfW(Shdr) * table,
                       const ElfW(Shdr) * names, uintptr_t at, struct function *found)
{
    const ElfW(Sym) *symbols = (const void *)(image->bytes + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *symbol = &symbols[i];
        if ((symbol->st_info & 0xF) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
            symbol->st_name < names->sh_size && symbol->st_value <= at &&
            at - symbol->st_value < symbol->st_size) {
            *found = (struct function){
                (const char *)image->bytes + names->sh_offset + symbol->st_name, symbol->st_value};
            return true;
        }
    }
    return false;
}

/* at: an address in the image.  A loaded file is a sound one; only its table of sections may have
 * been cut off. */
static bool find_image(const struct image *image, uintptr_t at, struct function *found)
{
    const ElfW(Ehdr) *head = (const void *)image->bytes;
    if (head->e_shoff > image->size_bytes || head->e_shentsize != sizeof(ElfW(Shdr)) ||
        head->e_shnum > (image->size_bytes - head->e_shoff) / sizeof(ElfW(Shdr))) {
        return false;
    }
    const ElfW(Shdr) *sections = (const void *)(image->bytes + head->e_shoff);
    for (size_t i = 0; i < head->e_shnum; i++) {
        const ElfW(
            Shdr) *names = &sections[sections[i].sh_link < head->e_shnum ? sections[i].sh_link : 0];
        if (sections[i].sh_type == SHT_SYMTAB && is_within(image, &sections[i]) &&
            is_within(image, names)) {
            return table_find(image, &sections[i], names, at, found);
        }
    }
    return false;
}

const char *place_print(const void *place, char text[PLACE_TEXT_BYTES])
{
    Dl_info info;
    struct link_map *map = NULL;
    struct image image;
    struct function function;
    if (place == NULL || dladdr1(place, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 ||
        map == NULL) {
        (void)snprintf(text, PLACE_TEXT_BYTES, "an unknown place");
        return text;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    const void *base = info.dli_sname != NULL ? info.dli_saddr : info.dli_fbase;
    const char *name = info.dli_sname != NULL ? info.dli_sname : "";
    size_t offset = (size_t)((const char *)place - (const char *)base);
    const uintptr_t at = (uintptr_t)place - map->l_addr;
    const bool is_open = open_image(&image,
                                    map->l_name[0] == '\0' ? "/proc/self/exe" : map->l_name);
    if (is_open && find_image(&image, at, &function)) {
        name = function.name;
        offset = at - function.start;
    }
    (void)snprintf(text, PLACE_TEXT_BYTES, "%.80s+0x%zx (%.60s)", name, offset,
                   slash == NULL ? info.dli_fname : slash + 1);
    if (is_open) {
        close_image(&image);
    }
    return text;
}
