#include "tests/helpers/snap.h"

#include "tests/helpers/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tests run in processes of their own: what they ask for reaches the process of all through a file
 * that was opened before.  A record is the file of the test, the heading and the text, each ended
 * by a NUL. */
static FILE *asked;
static bool is_update;

static const char *masked_words, *mask; /* NULL: nothing is masked */

/* --- how a text is written --- */

/* Controls of Latin-1, marks of the direction of text, surrogates, and what is no character. */
static bool is_invisible(const char *at)
{
    static const char *const firsts[] = {"\xe2\x80\x8e", "\xe2\x80\xaa", "\xe2\x81\xa6",
                                         "\xed\xa0\x80", "\xef\xbf\xbe"};
    static const char *const lasts[] = {"\xe2\x80\x8f", "\xe2\x80\xae", "\xe2\x81\xa9",
                                        "\xed\xbf\xbf", "\xef\xbf\xbf"};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        if (strncmp(at, firsts[i], 3) >= 0 && strncmp(at, lasts[i], 3) <= 0) {
            return true;
        }
    }
    return *at == '\xc2' && (unsigned char)at[1] < 0xa0;
}

/* Bytes of the visible UTF-8 character that begins here; 0 where none does. */
static size_t character_bytes(const char *at)
{
    if (is_invisible(at)) {
        return 0;
    }
    const unsigned char first = (unsigned char)*at;
    const size_t bytes = first < 0x80   ? 1
                         : first < 0xc2 ? 0
                         : first < 0xe0 ? 2
                         : first < 0xf0 ? 3
                                        : 4;
    for (size_t i = 1; i < bytes; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return first < 0xf5 ? bytes : 0;
}

static bool is_shown(const char *at, bool begins_line)
{
    if (*at == ' ') {
        return at[1] != '\n' && at[1] != '\0';
    }
    return *at == '\n' || ((unsigned char)*at >= ' ' && *at != 0x7f && character_bytes(at) > 0 &&
                           !(begins_line && strncmp(at, "== ", 3) == 0));
}

static char *written(const char *text)
{
    char *all = NULL;
    size_t size;
    FILE *out = open_memstream(&all, &size);
    const char *at = text;
    while (*at != '\0') {
        if (mask != NULL && strncmp(at, masked_words, strlen(masked_words)) == 0) {
            fputs(mask, out);
            at += strlen(masked_words);
        } else if (is_shown(at, at == text || at[-1] == '\n')) {
            const size_t bytes = character_bytes(at);
            fwrite(at, 1, bytes, out);
            at += bytes;
        } else {
            fprintf(out, "<<%02x>>", (unsigned char)*at++);
        }
    }
    fputs(at == text || at[-1] != '\n' ? " (no-eol)\n" : "", out);
    fclose(out);
    return all;
}

/* --- the file with the blocks --- */

static void name_file(const char *file, char path[1024])
{
    snprintf(path, 1024, "%s%.*s.snap", *file == '/' ? "" : HBMSTRESS_SOURCE_DIR "/",
             (int)(strlen(file) - strlen(".c")), file);
}

/* NULL when there is none. */
static char *read_all(FILE *in)
{
    char *all = NULL;
    size_t size;
    if (in != NULL) {
        FILE *out = open_memstream(&all, &size);
        for (int c; (c = fgetc(in)) != EOF;) {
            fputc(c, out);
        }
        fclose(out);
    }
    return all;
}

static char *read_file(const char *path)
{
    FILE *in = fopen(path, "r");
    char *all = read_all(in);
    if (in != NULL) {
        fclose(in);
    }
    return all;
}

/* Splits off the first block: ends its heading and its text with a NUL each.  False at the end. */
static bool next_block(char **rest, const char **heading, const char **text)
{
    static char nothing[] = "";
    if (*rest == NULL || strncmp(*rest, "== ", 3) != 0) {
        return false;
    }
    char *end = *rest + strcspn(*rest, "\n");
    *heading = *rest + 3;
    *text = *end == '\0' ? end : end + 1;
    *rest = strstr(end, "\n\n== ");
    *end = '\0';
    if (*rest != NULL) {
        (*rest)[1] = '\0';
        *rest += 2;
    } else {
        *rest = nothing;
    }
    return true;
}

/* --- in the process of a test --- */

static void set_heading(char heading[160])
{
    static const struct listed_test *last;
    static int last_run, number;
    int run;
    const struct listed_test *test = test_running(&run);
    number = test == last && run == last_run ? number + 1 : 1;
    last = test;
    last_run = run;
    const bool has_runs = test->settings.to != 0 || test->settings.count != NULL;
    char run_words[16] = "";
    if (has_runs) {
        snprintf(run_words, sizeof run_words, "[%d]", run);
    }
    snprintf(heading, 160, "%.100s%s %d", test->test.name, run_words, number);
}

static void compare(const char *file, int line, const char *heading, const char *got)
{
    char path[1024];
    const char *found, *wanted;
    int run;
    name_file(test_running(&run)->test.file, path);
    char *all = read_file(path), *rest = all;
    while (next_block(&rest, &found, &wanted)) {
        if (strcmp(found, heading) != 0) {
            continue;
        }
        size_t same = 0, begin = 0;
        for (; wanted[same] == got[same] && got[same] != '\0'; same++) {
            begin = got[same] == '\n' ? same + 1 : begin;
        }
        if (wanted[same] != got[same]) {
            _ck_assert_failed(file, line, heading,
                              "not as %s has it:\n-%.*s\n+%.*s\nall of it:\n%s", path,
                              (int)strcspn(wanted + begin, "\n"), wanted + begin,
                              (int)strcspn(got + begin, "\n"), got + begin, got);
        }
        free(all);
        return;
    }
    _ck_assert_failed(file, line, heading,
                      "%s has no block for it (HBMSTRESS_SNAP=update writes it):\n%s", path, got);
}

void snap_at(const char *file, int line, const char *text)
{
    int run;
    char heading[160];
    set_heading(heading);
    char *got = written(text);
    fprintf(asked, "%s%c%s%c%s%c", test_running(&run)->test.file, 0, heading, 0, got, 0);
    fflush(asked);
    if (!is_update) {
        compare(file, line, heading, got);
    }
    free(got);
}

void snap_mask(const char *words, const char *shown)
{
    masked_words = words;
    mask = shown;
}

static bool has_part(const char *line, size_t length, const char *parts)
{
    for (; *parts != '\0'; parts += *parts == '|') {
        const size_t part = strcspn(parts, "|");
        if (memmem(line, length, parts, part) != NULL) {
            return true;
        }
        parts += part;
    }
    return false;
}

void snap_lines_at(const char *file, int line, const char *text, const char *parts)
{
    char *all = NULL;
    size_t size, length;
    FILE *out = open_memstream(&all, &size);
    for (; *text != '\0'; text += length) {
        length = strcspn(text, "\n");
        length += text[length] == '\n';
        if (has_part(text, length, parts)) {
            fwrite(text, 1, length, out);
        }
    }
    fclose(out);
    snap_at(file, line, all);
    free(all);
}

/* Behind an array or object that begins here; behind a string; else one byte further. */
static const char *value_end(const char *at)
{
    size_t depth = 0;
    do {
        if (*at == '"') {
            for (at++; *at != '"' && *at != '\0'; at++) {
                at += *at == '\\' && at[1] != '\0';
            }
        }
        depth += *at == '{' || *at == '[';
        depth -= depth > 0 && (*at == '}' || *at == ']');
        at += *at != '\0';
    } while (depth > 0 && *at != '\0');
    return at;
}

/* Columns of the member that begins here, up to the comma or the bracket behind it. */
static size_t member_columns(const char *at)
{
    const char *end = at;
    while (*end != '\0' && strchr(",]}", *end) == NULL) {
        end = value_end(end);
    }
    return (size_t)(end - at) + 1;
}

void snap_json_at(const char *file, int line, const char *text)
{
    enum { WIDTH = 96 };
    char *all = NULL;
    size_t size, depth = 0, column = 0;
    FILE *out = open_memstream(&all, &size);
    for (const char *at = text, *end; *at != '\0'; at = end) {
        end = value_end(at);
        if (depth > 0 && (*at == '\n' || *at == ' ')) {
            continue;
        }
        const bool opens = *at == '{' || *at == '[', closes = *at == '}' || *at == ']';
        if (depth > 0 && closes) {
            column = (size_t)fprintf(out, "\n%*s%c", (int)(2 * --depth), "", *at) - 1;
        } else if (opens && column + (size_t)(end - at) > WIDTH) {
            end = at + 1;
            column = (size_t)fprintf(out, "%c\n%*s", *at, (int)(2 * ++depth), "") - 2;
        } else {
            fwrite(at, 1, (size_t)(end - at), out);
            column = *at == '\n' ? 0 : column + (size_t)(end - at);
        }
        if (*at == ',' && depth > 0 && column + member_columns(end + strspn(end, " \n")) > WIDTH) {
            column = (size_t)fprintf(out, "\n%*s", (int)(2 * depth), "") - 1;
        }
    }
    fclose(out);
    snap_at(file, line, all);
    free(all);
}

/* --- in the process of all --- */

static bool begin(void)
{
    const char *word = getenv("HBMSTRESS_SNAP");
    is_update = word != NULL && strcmp(word, "update") == 0;
    if (word != NULL && *word != '\0' && !is_update) {
        fprintf(stderr, "HBMSTRESS_SNAP is '%s': it may be 'update'\n", word);
        return false;
    }
    if (is_update && getenv("CI") != NULL) {
        fputs("HBMSTRESS_SNAP=update is refused where CI is set: a snapshot is reviewed\n", stderr);
        return false;
    }
    asked = tmpfile();
    return asked != NULL;
}

/* The text that a test of the file asked for last under the heading; NULL when none did. */
static const char *find_asked(const char *records, size_t size, const char *file,
                              const char *heading)
{
    const char *found = NULL;
    for (const char *at = records; at < records + size;) {
        const char *name = at + strlen(at) + 1, *text = name + strlen(name) + 1;
        if (strcmp(at, file) == 0 && strcmp(name, heading) == 0) {
            found = text;
        }
        at = text + strlen(text) + 1;
    }
    return found;
}

static void put_block(FILE *out, const char *heading, const char *text)
{
    fprintf(out, "%s== %s\n%s", ftell(out) > 0 ? "\n" : "", heading, text);
}

/* What was asked for in its order; of tests that did not run, what was there, behind it. */
static bool rewrite(const char *path, const char *file, char *blocks, bool is_whole,
                    const char *records, size_t size)
{
    char *all = NULL, *old = read_file(path);
    const char *heading, *text;
    size_t length;
    FILE *out = open_memstream(&all, &length);
    for (const char *at = records; at < records + size;) {
        heading = at + strlen(at) + 1;
        text = heading + strlen(heading) + 1;
        if (strcmp(at, file) == 0) {
            put_block(out, heading, text);
        }
        at = text + strlen(text) + 1;
    }
    for (char *rest = is_whole ? NULL : blocks; next_block(&rest, &heading, &text);) {
        if (find_asked(records, size, file, heading) == NULL) {
            put_block(out, heading, text);
        }
    }
    fclose(out);
    bool is_good = true;
    if (old == NULL ? length > 0 : strcmp(old, all) != 0) {
        FILE *to = length > 0 ? fopen(path, "w") : NULL;
        is_good = length > 0 ? to != NULL && fputs(all, to) >= 0 && fclose(to) == 0
                             : unlink(path) == 0;
        fprintf(stderr, "%s: %s\n", path, is_good ? "rewritten" : "cannot be written");
    }
    free(old);
    free(all);
    return is_good;
}

static bool end_file(const char *file, bool is_whole)
{
    char path[1024];
    const char *heading, *text;
    name_file(file, path);
    rewind(asked);
    struct stat status;
    fstat(fileno(asked), &status);
    char *records = read_all(asked), *blocks = read_file(path);
    const size_t size = (size_t)status.st_size;
    bool is_good = true;
    if (is_update) {
        is_good = rewrite(path, file, blocks, is_whole, records, size);
    } else if (is_whole) {
        for (char *rest = blocks; next_block(&rest, &heading, &text);) {
            if (find_asked(records, size, file, heading) == NULL) {
                fprintf(stderr, "%s: no test asks for '%s' (HBMSTRESS_SNAP=update drops it)\n",
                        path, heading);
                is_good = false;
            }
        }
    }
    free(records);
    free(blocks);
    return is_good;
}

__attribute__((constructor)) static void watch(void)
{
    static const struct suite_watcher watcher = {begin, end_file};
    suite_watcher = &watcher;
}
