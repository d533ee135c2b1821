/* The commit of a checkout, read from git's own files: every layout is made up in a directory of
 * its own. */
#include "campaign/plan/plan.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST "4a07c1d2e3f405162738495a6b7c8d9e0f1a2b3c"
#define SECOND "00112233445566778899aabbccddeeff00112233"
#define LONG_HASH "4a07c1d2e3f405162738495a6b7c8d9e0f1a2b3c4a07c1d2e3f405162738495a"

static void enter_scratch(void)
{
    folder_enter("commit");
    ck_assert_int_eq(chdir(folder), 0);
}

static void check_commit(const char *directory, const char *wanted)
{
    char hash[COMMIT_BYTES] = "untouched";
    ck_assert_int_eq(commit_read(directory, hash), wanted != NULL);
    ck_assert_str_eq(hash, wanted == NULL ? "untouched" : wanted);
}

EVERY_TEST(.setup = enter_scratch, .teardown = folder_leave);

TEST(a_branch_has_its_commit_in_a_file)
{
    folder_write(".git/HEAD", "ref: refs/heads/main\n");
    folder_write(".git/refs/heads/main", FIRST "\n");
    check_commit(".", FIRST);
    check_commit(folder, FIRST);
}

TEST(a_branch_with_folders_in_its_name_is_found)
{
    folder_write(".git/HEAD", "ref: refs/heads/a/b/c\n");
    folder_write(".git/refs/heads/a/b/c", FIRST "\n");
    check_commit(".", FIRST);
}

TEST(packed_refs_are_read)
{
    folder_write(".git/HEAD", "ref: refs/heads/main\n");
    folder_write(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted\n" SECOND
                                     " refs/heads/maintenance\n" SECOND " refs/heads/mai\n" FIRST
                                     " refs/heads/main\n" SECOND " refs/tags/v1\n^" SECOND "\n");
    check_commit(".", FIRST);
}

TEST(a_file_comes_before_the_packed_refs)
{
    folder_write(".git/HEAD", "ref: refs/heads/main\n");
    folder_write(".git/refs/heads/main", FIRST "\n");
    folder_write(".git/packed-refs", SECOND " refs/heads/main\n");
    check_commit(".", FIRST);
}

TEST(a_detached_head_is_the_commit_itself)
{
    folder_write(".git/HEAD", SECOND "\n");
    check_commit(".", SECOND);
    folder_write(".git/HEAD", LONG_HASH);
    check_commit(".", LONG_HASH);
}

TEST(a_linked_worktree_has_its_own_head_and_the_common_refs)
{
    folder_write("main/.git/HEAD", "ref: refs/heads/main\n");
    folder_write("main/.git/refs/heads/main", FIRST "\n");
    folder_write("main/.git/refs/heads/other", SECOND "\n");
    folder_write("main/.git/worktrees/tree/HEAD", "ref: refs/heads/other\n");
    folder_write("main/.git/worktrees/tree/commondir", "../..\n");
    folder_write("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
    check_commit("tree", SECOND);
    check_commit("main", FIRST);
    char text[2 * SCRATCH_PATH_BYTES];
    (void)snprintf(text, sizeof text, "gitdir: %s/main/.git/worktrees/tree\n", folder);
    folder_write("tree/.git", text);
    check_commit("tree", SECOND);
    (void)remove("main/.git/refs/heads/other");
    folder_write("main/.git/packed-refs", SECOND " refs/heads/other\n");
    check_commit("tree", SECOND);
}

TEST(a_symbolic_ref_is_followed_and_a_circle_ends)
{
    folder_write(".git/HEAD", "ref: refs/heads/alias\n");
    folder_write(".git/refs/heads/alias", "ref: refs/heads/main\n");
    folder_write(".git/refs/heads/main", FIRST "\n");
    check_commit(".", FIRST);
    folder_write(".git/refs/heads/main", "ref: refs/heads/alias\n");
    check_commit(".", NULL);
}

TEST(what_is_no_checkout_has_no_commit)
{
    static const char *const rows[][2] = {{"a/.git/HEAD", ""},
                                          {"unborn/.git/HEAD", "ref: refs/heads/main\n"},
                                          {"words/.git/HEAD", "a few words\n"},
                                          {"short/.git/HEAD", "4a07c1d2\n"},
                                          {"long/.git/HEAD", FIRST "4a\n"},
                                          {"goes_on/.git/HEAD", FIRST "xyz\n"},
                                          {"lies/.git", "not a gitdir\n"}};
    check_commit(".", NULL);
    check_commit("nowhere", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char directory[16];
        folder_write(rows[i][0], rows[i][1]);
        (void)snprintf(directory, sizeof directory, "%.*s", (int)strcspn(rows[i][0], "/"),
                       rows[i][0]);
        check_commit(directory, NULL);
    }
}

TEST(a_ref_leads_nowhere_else)
{
    folder_write("secret", FIRST "\n");
    folder_write(".git/refs/x", "");
    folder_write(".git/HEAD", "ref: refs/../../secret\n");
    check_commit(".", NULL);
    folder_write(".git/HEAD", "ref: ../secret\n");
    check_commit(".", NULL);
    char text[2 * SCRATCH_PATH_BYTES];
    (void)snprintf(text, sizeof text, "ref: %s/secret\n", folder);
    folder_write(".git/HEAD", text);
    check_commit(".", NULL);
}

TEST(a_commit_stands_for_one_seed)
{
    ck_assert_uint_eq(commit_seed(FIRST), commit_seed(FIRST));
    ck_assert_uint_ne(commit_seed(FIRST), commit_seed(SECOND));
    ck_assert_uint_ne(commit_seed(FIRST), commit_seed(LONG_HASH));
    ck_assert_uint_lt(commit_seed(FIRST), UINT64_C(1) << 48);
}
