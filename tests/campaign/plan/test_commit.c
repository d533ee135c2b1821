/* The commit of a checkout, read from git's own files: every layout is made up in a directory of
 * its own. */
#include "campaign/plan/plan.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST "4a07c1d2e3f405162738495a6b7c8d9e0f1a2b3c"
#define SECOND "00112233445566778899aabbccddeeff00112233"
#define LONG_HASH "4a07c1d2e3f405162738495a6b7c8d9e0f1a2b3c4a07c1d2e3f405162738495a"

static char scratch[SCRATCH_PATH_BYTES];

static void enter_scratch(void)
{
    scratch_name(scratch, "test_cli_commit");
    ck_assert_ptr_nonnull(mkdtemp(scratch));
    ck_assert_int_eq(chdir(scratch), 0);
}

static void leave_scratch(void)
{
    char command[SCRATCH_PATH_BYTES + 16];
    ck_assert_int_eq(chdir("/"), 0);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    ck_assert_int_eq(system(command), 0);
}

/* Writes a file, and the folders on the way to it. */
static void write_file(const char *path, const char *text)
{
    char folder[2 * SCRATCH_PATH_BYTES];
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        (void)mkdir(folder, 0700);
    }
    FILE *stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_ge(fputs(text, stream), 0);
    ck_assert_int_eq(fclose(stream), 0);
}

static void check_commit(const char *directory, const char *wanted)
{
    char hash[COMMIT_BYTES] = "untouched";
    ck_assert_int_eq(commit_read(directory, hash), wanted != NULL);
    ck_assert_str_eq(hash, wanted == NULL ? "untouched" : wanted);
}

EVERY_TEST(.setup = enter_scratch, .teardown = leave_scratch);

TEST(a_branch_has_its_commit_in_a_file)
{
    write_file(".git/HEAD", "ref: refs/heads/main\n");
    write_file(".git/refs/heads/main", FIRST "\n");
    check_commit(".", FIRST);
    check_commit(scratch, FIRST);
}

TEST(a_branch_with_folders_in_its_name_is_found)
{
    write_file(".git/HEAD", "ref: refs/heads/a/b/c\n");
    write_file(".git/refs/heads/a/b/c", FIRST "\n");
    check_commit(".", FIRST);
}

TEST(packed_refs_are_read)
{
    write_file(".git/HEAD", "ref: refs/heads/main\n");
    write_file(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted\n" SECOND
                                   " refs/heads/maintenance\n" SECOND " refs/heads/mai\n" FIRST
                                   " refs/heads/main\n" SECOND " refs/tags/v1\n^" SECOND "\n");
    check_commit(".", FIRST);
}

TEST(a_file_comes_before_the_packed_refs)
{
    write_file(".git/HEAD", "ref: refs/heads/main\n");
    write_file(".git/refs/heads/main", FIRST "\n");
    write_file(".git/packed-refs", SECOND " refs/heads/main\n");
    check_commit(".", FIRST);
}

TEST(a_detached_head_is_the_commit_itself)
{
    write_file(".git/HEAD", SECOND "\n");
    check_commit(".", SECOND);
    write_file(".git/HEAD", LONG_HASH);
    check_commit(".", LONG_HASH);
}

TEST(a_linked_worktree_has_its_own_head_and_the_common_refs)
{
    write_file("main/.git/HEAD", "ref: refs/heads/main\n");
    write_file("main/.git/refs/heads/main", FIRST "\n");
    write_file("main/.git/refs/heads/other", SECOND "\n");
    write_file("main/.git/worktrees/tree/HEAD", "ref: refs/heads/other\n");
    write_file("main/.git/worktrees/tree/commondir", "../..\n");
    write_file("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
    check_commit("tree", SECOND);
    check_commit("main", FIRST);
    char text[2 * SCRATCH_PATH_BYTES];
    (void)snprintf(text, sizeof text, "gitdir: %s/main/.git/worktrees/tree\n", scratch);
    write_file("tree/.git", text);
    check_commit("tree", SECOND);
    (void)remove("main/.git/refs/heads/other");
    write_file("main/.git/packed-refs", SECOND " refs/heads/other\n");
    check_commit("tree", SECOND);
}

TEST(a_symbolic_ref_is_followed_and_a_circle_ends)
{
    write_file(".git/HEAD", "ref: refs/heads/alias\n");
    write_file(".git/refs/heads/alias", "ref: refs/heads/main\n");
    write_file(".git/refs/heads/main", FIRST "\n");
    check_commit(".", FIRST);
    write_file(".git/refs/heads/main", "ref: refs/heads/alias\n");
    check_commit(".", NULL);
}

TEST(what_is_no_checkout_has_no_commit)
{
    check_commit(".", NULL);
    check_commit("nowhere", NULL);
    write_file("a/.git/HEAD", "");
    check_commit("a", NULL);
    write_file("unborn/.git/HEAD", "ref: refs/heads/main\n");
    check_commit("unborn", NULL);
    write_file("words/.git/HEAD", "a few words\n");
    check_commit("words", NULL);
    write_file("short/.git/HEAD", "4a07c1d2\n");
    check_commit("short", NULL);
    write_file("long/.git/HEAD", FIRST "4a\n");
    check_commit("long", NULL);
    write_file("goes_on/.git/HEAD", FIRST "xyz\n");
    check_commit("goes_on", NULL);
    write_file("lies/.git", "not a gitdir\n");
    check_commit("lies", NULL);
}

TEST(a_ref_leads_nowhere_else)
{
    write_file("secret", FIRST "\n");
    write_file(".git/refs/x", "");
    write_file(".git/HEAD", "ref: refs/../../secret\n");
    check_commit(".", NULL);
    write_file(".git/HEAD", "ref: ../secret\n");
    check_commit(".", NULL);
    char text[2 * SCRATCH_PATH_BYTES];
    (void)snprintf(text, sizeof text, "ref: %s/secret\n", scratch);
    write_file(".git/HEAD", text);
    check_commit(".", NULL);
}

TEST(a_commit_stands_for_one_seed)
{
    ck_assert_uint_eq(commit_seed(FIRST), commit_seed(FIRST));
    ck_assert_uint_ne(commit_seed(FIRST), commit_seed(SECOND));
    ck_assert_uint_ne(commit_seed(FIRST), commit_seed(LONG_HASH));
    ck_assert_uint_lt(commit_seed(FIRST), UINT64_C(1) << 48);
}
