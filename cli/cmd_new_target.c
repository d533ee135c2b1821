/* new-target: writes a plug-in that builds, runs, and keeps its promises, to begin with. */
#include "campaign/base/file.h"
#include "campaign/engine/output.h"
#include "cli/new_target_files.h"
#include "cli/subcommands.h"
#include "harness/base/shell.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_LENGTH_MAX = 64 };

static const char *const languages[] = {"c++", "c"}; /* cpp is nearer to the first */
enum { LANGUAGE_COUNT = sizeof languages / sizeof *languages };
static const char *const returned[] = {"offsets", "pointers"};
enum { RETURNED_COUNT = sizeof returned / sizeof *returned };

/* Selects the files that are wanted. */
struct skeleton {
    const char *language, *returns;
};

/* --- what was asked for --- */

static enum exit_code check_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char valid[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const size_t length = strlen(name);
    if (length > NAME_LENGTH_MAX || strspn(name, letters) == 0 || strspn(name, valid) != length) {
        return message_fail(EXIT_USAGE,
                            "'%s' is no name for a target: a letter, then letters, digits, _ and "
                            "-, at most %d in all",
                            name, NAME_LENGTH_MAX);
    }
    return EXIT_KEPT;
}

static bool is_one_of(const char *value, const char *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(values[i], value) == 0) {
            return true;
        }
    }
    return false;
}

static enum exit_code check_skeleton(const struct skeleton *skeleton)
{
    if (!is_one_of(skeleton->language, languages, LANGUAGE_COUNT)) {
        return message_unknown("language", skeleton->language,
                               message_nearest(skeleton->language, languages, LANGUAGE_COUNT),
                               "valid languages: c, c++");
    }
    if (!is_one_of(skeleton->returns, returned, RETURNED_COUNT)) {
        return message_unknown("value of --returns", skeleton->returns,
                               message_nearest(skeleton->returns, returned, RETURNED_COUNT),
                               "valid values: offsets, pointers");
    }
    return EXIT_KEPT;
}

/* --- files --- */

static bool is_wanted(const struct new_target_file *file, const struct skeleton *skeleton)
{
    return strcmp(file->language, skeleton->language) == 0 &&
           (strcmp(file->returns, skeleton->returns) == 0 || strcmp(file->returns, "any") == 0);
}

/* The text with the target's name in place of what stands for it. */
static void append_named(struct writing *text, const char *from, const char *name)
{
    for (const char *found; (found = strstr(from, NEW_TARGET_PLACEHOLDER)) != NULL;
         from = found + strlen(NEW_TARGET_PLACEHOLDER)) {
        writing_append_bytes(text, from, (size_t)(found - from));
        writing_append(text, name);
    }
    writing_append(text, from);
}

static bool write_whole(const char *path, const struct writing *text)
{
    FILE *stream = fopen(path, "wex");
    if (stream == NULL) {
        return false;
    }
    const bool is_written = fwrite(writing_string(text), 1, text->length, stream) == text->length;
    const int reason = errno;
    if (fclose(stream) != 0) {
        return false;
    }
    errno = reason;
    return is_written;
}

static void join_path(struct writing *path, const char *directory,
                      const struct new_target_file *file, const char *name)
{
    writing_init(path);
    writing_append_format(path, "%s/", directory);
    append_named(path, file->name, name);
}

static bool write_file(const char *directory, const struct new_target_file *file, const char *name)
{
    struct writing path, text;
    join_path(&path, directory, file, name);
    writing_init(&text);
    append_named(&text, file->text, name);
    const bool is_written = write_whole(writing_string(&path), &text);
    const int reason = errno;
    writing_deinit(&text);
    writing_deinit(&path);
    errno = reason;
    return is_written;
}

static bool write_files(const char *directory, const struct skeleton *skeleton, const char *name)
{
    for (const struct new_target_file *file = new_target_files; file->language != NULL; file++) {
        if (is_wanted(file, skeleton) && !write_file(directory, file, name)) {
            return false;
        }
    }
    return true;
}

/* Removes what write_files made of the directory, and the directory; errno stays. */
static void remove_files(const char *directory, const struct skeleton *skeleton, const char *name)
{
    const int reason = errno;
    for (const struct new_target_file *file = new_target_files; file->language != NULL; file++) {
        if (is_wanted(file, skeleton)) {
            struct writing path;
            join_path(&path, directory, file, name);
            (void)unlink(writing_string(&path));
            writing_deinit(&path);
        }
    }
    (void)rmdir(directory);
    errno = reason;
}

/* Writes into a directory beside, which gets its name when all is there. */
static enum exit_code write_target(const struct skeleton *skeleton, const char *name)
{
    char partial[NAME_LENGTH_MAX + sizeof ".partial"];
    struct stat status;
    if (lstat(name, &status) == 0) {
        return message_fail(EXIT_USAGE, "%s: it is there already; choose another name", name);
    }
    snprintf(partial, sizeof partial, "%s.partial", name);
    if (mkdir(partial, 0777) != 0) {
        return message_fail(EXIT_USAGE, "%s: %s", partial, strerror(errno));
    }
    if (!write_files(partial, skeleton, name) || rename(partial, name) != 0) {
        remove_files(partial, skeleton, name);
        return message_fail(EXIT_HARNESS, "%s: %s", name, strerror(errno));
    }
    return EXIT_KEPT;
}

/* --- what comes next --- */

/* The kit's place, seen from the program's own folder: as it is built, and as it is
 * installed. */
static const struct kit_place {
    const char *headers, *library;
} kit_places[] = {
    {"../kit/include", "../kit/libhbmstress-kit.a"},
    {"../include", "../" HBMSTRESS_LIBRARY_FOLDER "/libhbmstress-kit.a"},
};

static void append_shell_word(struct writing *text, const char *word)
{
    char quoted[SHELL_WORD_BYTES(PATH_MAX)];
    writing_append(text, shell_word(word, quoted));
}

/* place, a path from the folder of the program.  False: nothing lies there. */
static bool find_beside_program(const char *place, char found[PATH_MAX])
{
    char program[PATH_MAX], path[PATH_MAX + 128];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(program, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    (void)snprintf(path, sizeof path, "%s/%s", program, place);
    return realpath(path, found) != NULL;
}

/* Appends what the compiler needs of the kit: where it lies, or that pkg-config knows. */
static void append_kit(struct writing *text)
{
    char headers[PATH_MAX], library[PATH_MAX];
    for (size_t i = 0; i < sizeof kit_places / sizeof *kit_places; i++) {
        if (find_beside_program(kit_places[i].headers, headers) &&
            find_beside_program(kit_places[i].library, library)) {
            writing_append(text, "-I");
            append_shell_word(text, headers);
            writing_append(text, " ");
            append_shell_word(text, library);
            return;
        }
    }
    writing_append(text, "$(pkg-config --cflags --libs hbmstress-kit)");
}

/* Commands that work as they stand, from the folder in which new-target ran. */
static void append_next(struct writing *text, const struct skeleton *skeleton, const char *name)
{
    const bool is_c = strcmp(skeleton->language, "c") == 0;
    writing_append_format(
        text, "next, build it and run it:\n  %s -g -shared -fPIC -o %s.so %s/%s.%s ",
        is_c ? "cc -std=c17" : "c++ -std=c++17", name, name, name, is_c ? "c" : "cpp");
    append_kit(text);
    writing_append(text, "\n  ");
    append_shell_word(text, program_invocation_name);
    writing_append_format(
        text, " run fragmentation_storm --target ./%s.so --capacity 64M --seed 1\n", name);
}

static enum exit_code print_next(const struct skeleton *skeleton, const char *name)
{
    struct writing text;
    writing_init(&text);
    for (const struct new_target_file *file = new_target_files; file->language != NULL; file++) {
        if (is_wanted(file, skeleton)) {
            struct writing path;
            join_path(&path, name, file, name);
            writing_append_format(&text, "wrote %s\n", writing_string(&path));
            writing_deinit(&path);
        }
    }
    append_next(&text, skeleton, name);
    return output_once(false, &text, EXIT_KEPT);
}

static enum exit_code new_target_subcommand(const struct arguments *arguments)
{
    const char *name = arguments->words[0];
    const struct skeleton skeleton = {
        .language = arguments->language != NULL ? arguments->language : "c",
        .returns = arguments->returns != NULL ? arguments->returns : "offsets",
    };
    enum exit_code code = check_name(name);
    code = code == EXIT_KEPT ? check_skeleton(&skeleton) : code;
    code = code == EXIT_KEPT ? write_target(&skeleton, name) : code;
    return code == EXIT_KEPT ? print_next(&skeleton, name) : code;
}

const struct subcommand subcommand_new_target = {
    .name = "new-target",
    .summary = "write a plug-in to put your allocator into",
    .usage = "NAME [--lang c|c++] [--returns offsets|pointers]",
    .description =
        "Makes a new directory NAME with a source, a CMakeLists.txt and a README.md.  The plug-in builds\n"
        "and keeps every promise as it is written; put your own allocator in place of its calls\n"
        "(docs/kit.md).",
    .exits = EXIT_MEANINGS_OF_WORK,
    .examples = {"hbmstress new-target mine --lang c++ --returns pointers"},
    .options = "--lang --returns",
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "NAME",
    .run = new_target_subcommand,
};
