#include "campaign/plan/plan.h"

#include "harness/base/hash.h"
#include "harness/base/random.h"

#include <stdio.h>
#include <string.h>

/* Lines of git's files are short: "ref: " and a name, or a hash, a blank and a name. */
enum { PATH_BYTES = 4096, LINE_BYTES = 1024, SYMBOLIC_COUNT_MAX = 5 };

/* The folders of a checkout's files; the two differ in a linked worktree. */
struct repository {
    char own[PATH_BYTES];    /* HEAD */
    char common[PATH_BYTES]; /* refs, packed-refs */
};

static bool join_path(char to[PATH_BYTES], const char *directory, const char *name)
{
    const int length = name[0] == '/' ? snprintf(to, PATH_BYTES, "%s", name)
                                      : snprintf(to, PATH_BYTES, "%s/%s", directory, name);
    return length > 0 && length < PATH_BYTES;
}

/* The first line of a file, without its end.  False: no such file, an empty line, or a longer one.
 */
static bool read_line(const char *directory, const char *name, char line[LINE_BYTES])
{
    char path[PATH_BYTES];
    FILE *stream = join_path(path, directory, name) ? fopen(path, "re") : NULL;
    if (stream == NULL) {
        return false;
    }
    const bool is_read = fgets(line, LINE_BYTES, stream) != NULL && strlen(line) + 1 < LINE_BYTES;
    fclose(stream);
    if (!is_read) {
        return false;
    }
    line[strcspn(line, "\r\n")] = '\0';
    return line[0] != '\0';
}

/* .git is a directory, or a file that says where it is. */
static bool find_repository(const char *directory, struct repository *repository)
{
    char line[LINE_BYTES];
    static const char says[] = "gitdir: ";
    if (!join_path(repository->own, directory, ".git")) {
        return false;
    }
    if (read_line(directory, ".git", line) &&
        (strncmp(line, says, strlen(says)) != 0 ||
         !join_path(repository->own, directory, line + strlen(says)))) {
        return false;
    }
    const char *common = read_line(repository->own, "commondir", line) ? line : "";
    return common[0] == '\0' ? join_path(repository->common, repository->own, ".")
                             : join_path(repository->common, repository->own, common);
}

/* Takes the hash that text is, or that stands before its first blank. */
static bool parse_hash(const char *text, char hash[COMMIT_BYTES])
{
    const size_t length = strspn(text, "0123456789abcdef");
    const bool is_whole = text[length] == '\0' || text[length] == ' ';
    if (!is_whole || (length != 40 && length != COMMIT_BYTES - 1)) {
        return false;
    }
    memcpy(hash, text, length);
    hash[length] = '\0';
    return true;
}

/* A line of packed-refs is a hash, a blank and the name. */
static bool find_packed(const struct repository *repository, const char *ref,
                        char hash[COMMIT_BYTES])
{
    char path[PATH_BYTES], line[LINE_BYTES];
    FILE *stream = join_path(path, repository->common, "packed-refs") ? fopen(path, "re") : NULL;
    if (stream == NULL) {
        return false;
    }
    bool is_found = false;
    while (!is_found && fgets(line, sizeof line, stream) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        const char *name = strchr(line, ' ');
        is_found = name != NULL && strcmp(name + 1, ref) == 0 && parse_hash(line, hash);
    }
    fclose(stream);
    return is_found;
}

/* A name of git's, and no way out of its directory. */
static bool is_ref(const char *name)
{
    return strncmp(name, "refs/", 5) == 0 && strstr(name, "..") == NULL;
}

bool commit_read(const char *directory, char hash[COMMIT_BYTES])
{
    struct repository repository;
    char line[LINE_BYTES], ref[LINE_BYTES];
    if (!find_repository(directory, &repository) || !read_line(repository.own, "HEAD", line)) {
        return false;
    }
    for (int i = 0; i < SYMBOLIC_COUNT_MAX && strncmp(line, "ref: ", 5) == 0; i++) {
        memcpy(ref, line + 5, strlen(line + 5) + 1);
        if (!is_ref(ref)) {
            return false;
        }
        if (!read_line(repository.own, ref, line) && !read_line(repository.common, ref, line)) {
            return find_packed(&repository, ref, hash);
        }
    }
    return parse_hash(line, hash);
}

uint64_t commit_seed(const char *hash)
{
    return random_derive(hash_string(HASH_START, hash), 0) >> 16;
}
