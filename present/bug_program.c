#include "present/bug.h"

#include "harness/base/check.h"

#include <inttypes.h>
#include <string.h>

enum { INDENT = 4, NUMBER_BYTES = 24 };

const char *bug_sign_title(enum bug_sign sign)
{
    static const char *const titles[] = {
        [BUG_SIGN_REFUSED] = "a request is refused although it fits",
        [BUG_SIGN_OVERLAP] = "two live blocks overlap",
        [BUG_SIGN_OUTSIDE] = "a block lies outside of the memory of the allocator",
        [BUG_SIGN_MISALIGNED] = "a block is not aligned as asked",
        [BUG_SIGN_TAKEN] = "a block has another size than its request may get",
        [BUG_SIGN_CONTENTS] = "the bytes of a live block change",
        [BUG_SIGN_CRASH] = "a valid call ends the process",
        [BUG_SIGN_HANG] = "a valid call does not return",
    };
    CHECK(sign < sizeof titles / sizeof *titles);
    return titles[sign];
}

bool bug_sign_is_death(enum bug_sign sign)
{
    return sign == BUG_SIGN_CRASH || sign == BUG_SIGN_HANG;
}

static bool has_memory(const struct target_api *api)
{
    return api->memory == NULL || api->memory[0] != '\0';
}

const char *bug_program_flaw(const struct bug *bug)
{
    const struct target_api *api = bug->api;
    if (bug->sign == BUG_SIGN_TAKEN && api->bytes == NULL) {
        return "the target's API has no text for the size of a block";
    }
    if (bug->sign == BUG_SIGN_CONTENTS && !has_memory(api)) {
        return "the target's API has no text for the bytes of a block";
    }
    for (size_t i = 0; i < bug->call_count; i++) {
        if (bug->calls[i].align_bytes != 0 && api->alloc_aligned == NULL) {
            return "the target's API has no text for an aligned request";
        }
    }
    return NULL;
}

/* --- what checks the results --- */

static void append_table(const struct bug *bug, struct writing *text)
{
    writing_append(
        text,
        "/* What is known of each block: the bytes asked, the bytes that it takes with header and\n"
        " * rounding, and where it lies in the memory of the allocator. */\n"
        "struct report_block {\n"
        "    uint64_t asked, taken, align, place;\n"
        "    uint64_t address;\n"
        "    int is_live;\n"
        "};\n"
        "static struct report_block report_blocks[] = {\n");
    for (size_t i = 0; i < bug->call_count; i++) {
        const struct bug_call *call = &bug->calls[i];
        if (call->kind != BUG_FREE) {
            const uint64_t align = call->align_bytes != 0 ? call->align_bytes : bug->granule_bytes;
            writing_append_format(text,
                                  "    /* b%" PRIu32 " */ {%" PRIu64 ", %" PRIu64 ", %" PRIu64
                                  ", 0x%" PRIx64 ", 0, 0},\n",
                                  call->block, call->asked_bytes, call->taken_bytes, align,
                                  call->address);
        }
    }
    writing_append_format(text,
                          "    {0, 0, 0, 0, 0, 0} /* the end */\n"
                          "};\n"
                          "enum { REPORT_BLOCK_COUNT = %" PRIu32 " };\n\n",
                          bug->block_count);
}

static const char core[] =
    "static int report_end(int is_shown, const char *why)\n"
    "{\n"
    "    printf(\"%s: %s\\n\", is_shown ? \"SHOWN\" : \"NOT SHOWN\", why);\n"
    "    fflush(stdout);\n"
    "    _Exit(is_shown);\n"
    "    return is_shown;\n"
    "}\n\n"
    "static void report_unexpected(unsigned number, const char *what)\n"
    "{\n"
    "    printf(\"b%u of %\" PRIu64 \" bytes %s\\n\", number, report_blocks[number].asked, what);\n"
    "    report_end(0, \"a call had another result than in the replay\");\n"
    "}\n\n"
    "static void report_gave(unsigned number)\n"
    "{\n"
    "    printf(\"b%u is freed\\n\", number);\n"
    "    fflush(stdout);\n"
    "    report_blocks[number].is_live = 0;\n"
    "}\n\n";

static const char place[] =
    "/* The memory of the allocator begins where the first block shows it. */\n"
    "static uint64_t report_start;\n"
    "static int report_has_start, report_is_elsewhere;\n\n"
    "static void report_place(unsigned number, uint64_t address)\n"
    "{\n"
    "    struct report_block *block = &report_blocks[number];\n"
    "    if (!report_has_start) {\n"
    "        report_start = address - block->place;\n"
    "        report_has_start = 1;\n"
    "    }\n"
    "    block->address = address;\n"
    "    block->is_live = 1;\n"
    "    report_is_elsewhere |= address - report_start != block->place;\n"
    "    printf(\"b%u: %\" PRIu64 \" bytes at 0x%\" PRIx64 \"\\n\", number, block->asked,\n"
    "           address - report_start);\n"
    "    fflush(stdout);\n"
    "}\n\n";

static const char took_begin[] = "static void report_took(unsigned number, uint64_t address)\n"
                                 "{\n";

static const char took_hidden[] =
    "    report_blocks[number].address = address;\n"
    "    report_blocks[number].is_live = 1;\n"
    "    printf(\"b%u: %\" PRIu64 \" bytes\\n\", number, report_blocks[number].asked);\n"
    "    fflush(stdout);\n";

static const char took_overlapping[] =
    "    const struct report_block *block = &report_blocks[number];\n"
    "    report_place(number, address);\n"
    "    for (unsigned i = 0; i < REPORT_BLOCK_COUNT; i++) {\n"
    "        const struct report_block *other = &report_blocks[i];\n"
    "        if (i != number && other->is_live &&\n"
    "            address - REPORT_HEADER < other->address + other->asked &&\n"
    "            other->address - REPORT_HEADER < address + block->asked) {\n"
    "            printf(\"b%u is [0x%\" PRIx64 \", 0x%\" PRIx64 \"), b%u is [0x%\" PRIx64\n"
    "                   \", 0x%\" PRIx64 \")\\n\",\n"
    "                   number, address - report_start, address - report_start + block->asked, i,\n"
    "                   other->address - report_start,\n"
    "                   other->address - report_start + other->asked);\n"
    "            report_end(1, \"two live blocks overlap\");\n"
    "        }\n"
    "    }\n";

static const char took_placed[] = "    report_place(number, address);\n";

static const char took_outside[] =
    "    if (address < report_start ||\n"
    "        address - report_start + report_blocks[number].asked > REPORT_CAPACITY) {\n"
    "        printf(\"the memory is [0x0, 0x%\" PRIx64 \")\\n\", REPORT_CAPACITY);\n"
    "        report_end(1, \"a block lies outside of it\");\n"
    "    }\n";

static const char took_misaligned[] =
    "    if (address % report_blocks[number].align != 0) {\n"
    "        printf(\"0x%\" PRIx64 \" is no multiple of %\" PRIu64 \"\\n\", address,\n"
    "               report_blocks[number].align);\n"
    "        report_end(1, \"a block is misaligned\");\n"
    "    }\n";

static const char takes[] =
    "static void report_takes(unsigned number, uint64_t bytes)\n"
    "{\n"
    "    if (bytes < REPORT_LEAST || bytes > REPORT_NEED) {\n"
    "        printf(\"b%u takes %\" PRIu64 \" bytes, and may take %\" PRIu64 \" to %\" PRIu64 "
    "\"\\n\",\n"
    "               number, bytes, REPORT_LEAST, REPORT_NEED);\n"
    "        report_end(1, \"a block has a size that it may not have\");\n"
    "    }\n"
    "}\n\n";

static const char contents[] =
    "static unsigned char *report_memory[REPORT_BLOCK_COUNT + 1];\n\n"
    "static unsigned char report_pattern(unsigned number, uint64_t at)\n"
    "{\n"
    "    return (unsigned char)(number * 37 + at / 64 * 11 + 1);\n"
    "}\n\n"
    "static void report_fill(unsigned number, void *memory)\n"
    "{\n"
    "    report_memory[number] = (unsigned char *)memory;\n"
    "    for (uint64_t at = 0; at < report_blocks[number].asked; at++) {\n"
    "        report_memory[number][at] = report_pattern(number, at);\n"
    "    }\n"
    "}\n\n"
    "/* After each call: whether every live block holds what was written into it. */\n"
    "static void report_look(void)\n"
    "{\n"
    "    for (unsigned i = 0; i < REPORT_BLOCK_COUNT; i++) {\n"
    "        for (uint64_t at = 0; report_blocks[i].is_live && at < report_blocks[i].asked; at++) "
    "{\n"
    "            if (report_memory[i][at] != report_pattern(i, at)) {\n"
    "                printf(\"byte %\" PRIu64 \" of b%u is %u, and was %u\\n\", at, i,\n"
    "                       report_memory[i][at], report_pattern(i, at));\n"
    "                report_end(1, \"the bytes of a live block changed\");\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "}\n\n";

static const char fits_placed[] =
    "/* Whether the block of the request fits behind that place, with no live block in it. */\n"
    "static void report_look_behind(uint64_t place)\n"
    "{\n"
    "    uint64_t end = report_is_elsewhere ? 0 : REPORT_TO;\n"
    "    for (unsigned i = 0; i < REPORT_BLOCK_COUNT; i++) {\n"
    "        const struct report_block *block = &report_blocks[i];\n"
    "        const uint64_t start = block->address - REPORT_HEADER - report_start;\n"
    "        if (!block->is_live || start + block->taken <= place) {\n"
    "            continue;\n"
    "        }\n"
    "        if (start < place) {\n"
    "            return;\n"
    "        }\n"
    "        end = end == 0 || start < end ? start : end;\n"
    "    }\n"
    "    const uint64_t first =\n"
    "        (place + REPORT_HEADER + REPORT_ALIGN - 1) / REPORT_ALIGN * REPORT_ALIGN - "
    "REPORT_HEADER;\n"
    "    if (first >= end || REPORT_NEED > end - first) {\n"
    "        return;\n"
    "    }\n"
    "    printf(\"free is [0x%\" PRIx64 \", 0x%\" PRIx64 \"): %\" PRIu64 \" bytes; the request needs %\" "
    "PRIu64\n"
    "           \" with header and rounding\\n\",\n"
    "           place, end, end - place, REPORT_NEED);\n"
    "    report_end(1, \"the request is refused although it fits\");\n"
    "}\n\n"
    "static void report_refused(unsigned number)\n"
    "{\n"
    "    printf(\"b%u of %\" PRIu64 \" bytes is refused\\n\", number, report_blocks[number].asked);\n"
    "    for (unsigned i = 0; i < REPORT_BLOCK_COUNT; i++) {\n"
    "        const struct report_block *block = &report_blocks[i];\n"
    "        if (block->is_live) {\n"
    "            report_look_behind(block->address - REPORT_HEADER - report_start + "
    "block->taken);\n"
    "        }\n"
    "    }\n"
    "    if (!report_is_elsewhere) {\n"
    "        report_look_behind(REPORT_FROM);\n"
    "    }\n"
    "    report_end(0, \"no free range is large enough\");\n"
    "}\n\n";

static const char fits_hidden[] =
    "static void report_refused(unsigned number)\n"
    "{\n"
    "    uint64_t used = 0;\n"
    "    for (unsigned i = 0; i < REPORT_BLOCK_COUNT; i++) {\n"
    "        used += report_blocks[i].is_live ? report_blocks[i].taken : 0;\n"
    "    }\n"
    "    printf(\"b%u of %\" PRIu64 \" bytes is refused: %\" PRIu64 \" of %\" PRIu64\n"
    "           \" bytes are in use, and the request needs %\" PRIu64 \"\\n\",\n"
    "           number, report_blocks[number].asked, used, REPORT_CAPACITY, REPORT_NEED);\n"
    "    if (used <= REPORT_CAPACITY && REPORT_NEED <= REPORT_CAPACITY - used) {\n"
    "        report_end(1, \"the request is refused although it fits\");\n"
    "    }\n"
    "    report_end(0, \"not enough is free\");\n"
    "}\n\n";

static const char called[] = "static void report_call(const char *what, unsigned number)\n"
                             "{\n"
                             "    printf(\"%s b%u ...\\n\", what, number);\n"
                             "    fflush(stdout);\n"
                             "}\n\n";

static void append_constant(struct writing *text, const char *name, uint64_t value)
{
    writing_append_format(text, "#define REPORT_%s UINT64_C(%" PRIu64 ")\n", name, value);
}

static void append_constants(const struct bug *bug, struct writing *text)
{
    append_constant(text, "CAPACITY", bug->capacity_bytes);
    append_constant(text, "HEADER", bug->header_bytes);
    if (bug->sign == BUG_SIGN_REFUSED || bug->sign == BUG_SIGN_TAKEN) {
        append_constant(text, "NEED", bug->need_bytes);
        append_constant(text, "LEAST", bug->least_bytes);
    }
    if (bug->sign == BUG_SIGN_REFUSED) {
        append_constant(text, "ALIGN", bug->align_bytes);
        append_constant(text, "FROM", bug->from);
        append_constant(text, "TO", bug->to);
    }
    writing_append(text, "\n");
}

/* Where blocks have no addresses nothing is read from them but what was asked for. */
static bool is_placed(const struct bug *bug)
{
    return bug->has_places || bug->sign == BUG_SIGN_OVERLAP || bug->sign == BUG_SIGN_OUTSIDE ||
           bug->sign == BUG_SIGN_MISALIGNED;
}

/* What is done with a block that a request got. */
static void append_took_function(const struct bug *bug, struct writing *text)
{
    writing_append(text, took_begin);
    if (bug->sign == BUG_SIGN_OVERLAP) {
        writing_append(text, took_overlapping);
    } else {
        writing_append(text, is_placed(bug) ? took_placed : took_hidden);
    }
    if (bug->sign == BUG_SIGN_OUTSIDE || bug->sign == BUG_SIGN_MISALIGNED) {
        writing_append(text, bug->sign == BUG_SIGN_OUTSIDE ? took_outside : took_misaligned);
    }
    writing_append(text, "}\n\n");
}

static void append_checks(const struct bug *bug, struct writing *text)
{
    writing_append(text, "\n#include <inttypes.h>\n#include <stdint.h>\n#include <stdio.h>\n"
                         "#include <stdlib.h>\n\n"
                         "/* --- what checks the results: nothing of the allocator --- */\n\n");
    append_constants(bug, text);
    append_table(bug, text);
    writing_append(text, core);
    if (bug_sign_is_death(bug->sign)) {
        writing_append(text, called);
    }
    if (is_placed(bug)) {
        writing_append(text, place);
    }
    append_took_function(bug, text);
    if (bug->sign == BUG_SIGN_REFUSED) {
        writing_append(text, bug->has_places ? fits_placed : fits_hidden);
    } else if (bug->sign == BUG_SIGN_TAKEN) {
        writing_append(text, takes);
    } else if (bug->sign == BUG_SIGN_CONTENTS) {
        writing_append(text, contents);
    }
}

/* --- the calls --- */

/* The values of a call, as the words of its texts. */
enum { WORD_COUNT = 5 };
struct call_words {
    char block[NUMBER_BYTES], size[NUMBER_BYTES], align[NUMBER_BYTES], capacity[NUMBER_BYTES],
        granule[NUMBER_BYTES];
    struct bug_word words[WORD_COUNT];
};

static void fill_words(const struct bug *bug, const struct bug_call *call, struct call_words *to)
{
    static const struct bug_call none = {0};
    call = call == NULL ? &none : call;
    snprintf(to->block, sizeof to->block, "b%" PRIu32, call->block);
    snprintf(to->size, sizeof to->size, "%" PRIu64, call->size_bytes);
    snprintf(to->align, sizeof to->align, "%" PRIu64, call->align_bytes);
    snprintf(to->capacity, sizeof to->capacity, "%" PRIu64, bug->capacity_bytes);
    snprintf(to->granule, sizeof to->granule, "%" PRIu64, bug->granule_bytes);
    to->words[0] = (struct bug_word){"block", to->block};
    to->words[1] = (struct bug_word){"size", to->size};
    to->words[2] = (struct bug_word){"align", to->align};
    to->words[3] = (struct bug_word){"capacity", to->capacity};
    to->words[4] = (struct bug_word){"granule", to->granule};
}

static void append_expression(struct writing *text, const char *given, const char *otherwise,
                              const struct call_words *words)
{
    bug_text_append(text, given == NULL ? otherwise : given, words->words, WORD_COUNT);
}

static void append_alloc_comment(const struct bug_call *call, struct writing *text)
{
    writing_append_format(text, "\n    /* op %" PRIu32 ": b%" PRIu32 ", %" PRIu64 " bytes",
                          call->op, call->block, call->asked_bytes);
    if (call->align_bytes != 0) {
        writing_append_format(text, " at a multiple of %" PRIu64, call->align_bytes);
    }
    writing_append(text, call->kind == BUG_REFUSED ? ": refused */\n" : " */\n");
}

/* What follows a request that is served in the replay. */
static void append_took(const struct bug *bug, const struct bug_call *call, bool is_last,
                        const struct call_words *words, struct writing *text)
{
    writing_append_format(text, "    report_took(%" PRIu32 ", (uint64_t)(", call->block);
    append_expression(text, bug->api->address, "(uintptr_t)@block", words);
    writing_append(text, "));\n");
    if (is_last && bug->sign == BUG_SIGN_TAKEN) {
        writing_append_format(text, "    report_takes(%" PRIu32 ", (uint64_t)(", call->block);
        append_expression(text, bug->api->bytes, "", words);
        writing_append(text, "));\n");
    }
    if (bug->sign == BUG_SIGN_CONTENTS) {
        writing_append_format(text, "    report_fill(%" PRIu32 ", ", call->block);
        append_expression(text, bug->api->memory, "@block", words);
        writing_append(text, ");\n");
    }
}

/* A request, and what checks its result; the last one may be the one that shows the defect. */
static void append_alloc(const struct bug *bug, const struct bug_call *call, bool is_last,
                         const struct call_words *words, struct writing *text)
{
    const struct target_api *api = bug->api;
    const bool is_refused = call->kind == BUG_REFUSED;
    append_alloc_comment(call, text);
    if (bug_sign_is_death(bug->sign)) {
        writing_append_format(text, "    report_call(\"allocating\", %" PRIu32 ");\n", call->block);
    }
    bug_text_append_lines(text, call->align_bytes != 0 ? api->alloc_aligned : api->alloc,
                          words->words, WORD_COUNT, INDENT);
    writing_append(text, is_refused ? "    if (!(" : "    if (");
    append_expression(text, api->failed, "@block == NULL", words);
    writing_append(text, is_refused ? ")" : "");
    writing_append_format(text, ") {\n        report_unexpected(%" PRIu32 ", \"is %s\");\n    }\n",
                          call->block, is_refused ? "served" : "refused");
    if (!is_refused) {
        append_took(bug, call, is_last, words, text);
    } else if (is_last && bug->sign == BUG_SIGN_REFUSED) {
        writing_append_format(text, "    report_refused(%" PRIu32 ");\n", call->block);
    }
}

static void append_free(const struct bug *bug, const struct bug_call *call,
                        const struct call_words *words, struct writing *text)
{
    writing_append_format(text, "\n    /* op %" PRIu32 ": b%" PRIu32 " goes */\n", call->op,
                          call->block);
    if (bug_sign_is_death(bug->sign)) {
        writing_append_format(text, "    report_call(\"freeing\", %" PRIu32 ");\n", call->block);
    }
    bug_text_append_lines(text, bug->api->free, words->words, WORD_COUNT, INDENT);
    writing_append_format(text, "    report_gave(%" PRIu32 ");\n", call->block);
}

static void append_calls(const struct bug *bug, struct writing *text)
{
    for (size_t i = 0; i < bug->call_count; i++) {
        const struct bug_call *call = &bug->calls[i];
        struct call_words words;
        fill_words(bug, call, &words);
        if (call->kind == BUG_FREE) {
            append_free(bug, call, &words, text);
        } else {
            append_alloc(bug, call, i + 1 == bug->call_count, &words, text);
        }
        if (bug->sign == BUG_SIGN_CONTENTS) {
            writing_append(text, "    report_look();\n");
        }
    }
}

void bug_program_append(const struct bug *bug, struct writing *text)
{
    struct call_words words;
    fill_words(bug, NULL, &words);
    writing_append_format(
        text,
        "/* Shows that %s.\n"
        " * Written by hbmstress report-bug.  It prints SHOWN and exits with 1 when "
        "it does. */\n",
        bug_sign_title(bug->sign));
    bug_text_append_lines(text, bug->api->head, words.words, WORD_COUNT, 0);
    append_checks(bug, text);
    writing_append(text, "/* --- the calls --- */\n\nint main(void)\n{\n");
    bug_text_append_lines(text, bug->api->version, words.words, WORD_COUNT, INDENT);
    if (bug->api->version != NULL) {
        writing_append(text, "    fflush(stdout);\n");
    }
    bug_text_append_lines(text, bug->api->create, words.words, WORD_COUNT, INDENT);
    append_calls(bug, text);
    writing_append(text, "\n");
    bug_text_append_lines(text, bug->api->destroy, words.words, WORD_COUNT, INDENT);
    writing_append(text, "    return report_end(0, \"every call did what it should\");\n}\n");
}
