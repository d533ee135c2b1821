/* hbmstress-manual DIRECTORY SOURCE: writes the manual pages and the completions there, those of
 * headers from the source tree.  It runs when hbmstress is built, and is not installed. */
#include "cli/manual/pages.h"
#include "harness/base/size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The folder that the pages go to, and what they say of their making. */
struct manual {
    const char *directory, *source, *version;
    char date[64];
    bool is_failed;
};

static void put_file(struct manual *manual, const char *name, struct writing *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", manual->directory, name);
    FILE *file = fopen(path, "w");
    bool is_good = file != NULL && writing_print(text, file);
    is_good = (file == NULL || fclose(file) == 0) && is_good;
    if (!is_good) {
        fprintf(stderr, "hbmstress-manual: %s: %s\n", path, strerror(errno));
        manual->is_failed = true;
    }
    writing_clear(text);
}

/* The day of SOURCE_DATE_EPOCH, or else that of the release: never the clock's. */
static bool set_date(char date[64], const char *seconds)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    uint64_t number = HBMSTRESS_RELEASE_SECONDS;
    if (seconds != NULL && !number_parse(seconds, strlen(seconds), &number)) {
        return false;
    }
    const time_t at = (time_t)number;
    struct tm day;
    if (gmtime_r(&at, &day) == NULL) {
        return false;
    }
    snprintf(date, 64, "%s %d, %d", months[day.tm_mon], day.tm_mday, day.tm_year + 1900);
    return true;
}

static void put_pages(struct manual *manual, struct writing *text)
{
    page_program(text, manual->date, manual->version);
    put_file(manual, "hbmstress.1", text);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        char name[64];
        snprintf(name, sizeof name, "hbmstress-%s.1", subcommands[i]->name);
        page_subcommand(text, subcommands[i], manual->date, manual->version);
        put_file(manual, name, text);
    }
    page_job(text, manual->date, manual->version);
    put_file(manual, "hbmstress-job.5", text);
    page_ops(text, manual->date, manual->version);
    put_file(manual, "hbmstress-ops.5", text);
}

/* A page of one or two headers. */
struct header_page {
    const char *name, *summary;
    const char *paths[2], *installed[2];
    const char *build; /* a command */
    const char *also;
};
static const struct header_page header_pages[] = {
    {"hbmstress-target",
     "the table that an allocator under test exports",
     {"harness/target.h", NULL},
     {"hbmstress/target.h", NULL},
     "cc -shared -fPIC -o mine.so mine.c \\\n"
     "    $(pkg-config --cflags hbmstress-kit)\n"
     "hbmstress run --target ./mine.so --capacity 64M",
     ".Xr hbmstress 1 ,\n.Xr hbmstress-infer 1 ,\n.Xr hbmstress-new-target 1\n"},
    {"libhbm",
     "an allocator of device memory",
     {"allocator/hbm.h", "allocator/hbm_shape.h"},
     {"hbm/hbm.h", "hbm/hbm_shape.h"},
     "cc -o program program.c $(pkg-config --cflags --libs libhbm)",
     ".Xr hbmstress 1\n"},
};

/* Appends the whole file; false: it cannot be read. */
static bool read_header(const struct manual *manual, const char *name, struct writing *header)
{
    char path[4096], part[4096];
    snprintf(path, sizeof path, "%s/%s", manual->source, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    for (size_t length; (length = fread(part, 1, sizeof part, file)) > 0;) {
        writing_append_bytes(header, part, length);
    }
    const bool is_good = ferror(file) == 0;
    (void)fclose(file);
    return is_good;
}

static void append_headers(struct manual *manual, const struct header_page *page,
                           struct writing *text)
{
    struct writing headers[2];
    for (size_t i = 0; i < 2; i++) {
        writing_init(&headers[i]);
        if (page->paths[i] != NULL && !read_header(manual, page->paths[i], &headers[i])) {
            fprintf(stderr, "hbmstress-manual: %s/%s: %s\n", manual->source, page->paths[i],
                    strerror(errno));
            manual->is_failed = true;
        }
    }
    mdoc_section(text, "DESCRIPTION");
    for (size_t i = 0; i < 2 && page->paths[i] != NULL; i++) {
        writing_append(text, i == 0 ? "" : ".Pp\n");
        header_description(text, writing_string(&headers[i]));
    }
    mdoc_section(text, "DECLARATIONS");
    for (size_t i = 0; i < 2 && page->paths[i] != NULL; i++) {
        header_declarations(text, writing_string(&headers[i]));
    }
    writing_deinit(&headers[0]);
    writing_deinit(&headers[1]);
}

static void put_headers(struct manual *manual, struct writing *text)
{
    for (size_t i = 0; i < sizeof header_pages / sizeof *header_pages; i++) {
        const struct header_page *page = &header_pages[i];
        const struct mdoc_page head = {page->name, page->summary, 3, manual->date, manual->version};
        char name[64];
        mdoc_begin(text, &head);
        mdoc_section(text, "SYNOPSIS");
        for (size_t j = 0; j < 2 && page->installed[j] != NULL; j++) {
            writing_append_format(text, ".In %s\n", page->installed[j]);
        }
        append_headers(manual, page, text);
        mdoc_section(text, "EXAMPLES");
        mdoc_display(text, page->build);
        mdoc_section(text, "SEE ALSO");
        writing_append(text, page->also);
        snprintf(name, sizeof name, "%s.3", page->name);
        put_file(manual, name, text);
    }
}

static void put_completions(struct manual *manual, struct writing *text)
{
    completion_bash(text);
    put_file(manual, "hbmstress", text);
    completion_zsh(text);
    put_file(manual, "_hbmstress", text);
    completion_fish(text);
    put_file(manual, "hbmstress.fish", text);
}

int main(int argc, char **argv)
{
    struct manual manual = {.version = HBMSTRESS_VERSION};
    if (argc != 3 || !set_date(manual.date, getenv("SOURCE_DATE_EPOCH"))) {
        fprintf(stderr, "usage: [SOURCE_DATE_EPOCH=SECONDS] hbmstress-manual DIRECTORY SOURCE\n");
        return 2;
    }
    manual.directory = argv[1];
    manual.source = argv[2];
    struct writing text;
    writing_init(&text);
    put_pages(&manual, &text);
    put_headers(&manual, &text);
    put_completions(&manual, &text);
    writing_deinit(&text);
    return manual.is_failed ? 4 : 0;
}
