#include "tests/checker/story.h"
#include "tests/helpers/suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *or_usual(const char *part, const char *usual)
{
    return part == NULL ? usual : part;
}

__attribute__((format(printf, 2, 3))) static void append(char *text, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    const int added = vsnprintf(text + used, STORY_TEXT_BYTES - used, format, arguments);
    va_end(arguments);
    ck_assert_int_lt(added, (int)(STORY_TEXT_BYTES - used));
}

void story_double_quotes(char *text)
{
    for (; *text != '\0'; text++) {
        *text = *text == '\'' ? '"' : *text;
    }
}

static size_t count_steps(const struct story *story)
{
    size_t count = 0;
    while (count < STORY_STEPS_MAX && story->steps[count].op != NULL) {
        count++;
    }
    return count;
}

static void write_list(const struct story *story, char *text)
{
    const size_t count = count_steps(story);
    text[0] = '\0';
    append(text,
           "hbmstress-ops 1\ncapacity 64K\ngranule 512\n%starget hbm\noption defrag=none\n"
           "seed 1\n# a remark\n\n",
           or_usual(story->head, "hosts 1\n"));
    for (size_t i = 0; i < count; i++) {
        append(text, "%zu: %s\n", i, story->steps[i].op);
    }
    append(text, "%zu: %s\n", count, or_usual(story->last, "alloc size=1M"));
}

static void write_log(const struct story *story, char *text)
{
    const size_t count = count_steps(story);
    text[0] = '\0';
    append(text,
           "{'format': 'hbmstress-observations', 'version': 1, 'target': 'hbm', "
           "'options': {'defrag': 'none'}, 'capacity': 65536, 'hosts': [%s]}\n",
           or_usual(story->hosts, PROMISED("granule", "none")));
    for (size_t i = 0; i < count; i++) {
        append(text, "{'op': %zu, 'answer': '%s', 'now': '%s'%s}\n", i, story->steps[i].answer,
               story->steps[i].now, story->steps[i].more);
    }
    append(text, "{'op': %zu, 'answer': 'no_memory', 'now': '9'%s}\n", count,
           or_usual(story->last_more, ""));
    story_double_quotes(text);
}

static void write_document(const struct story *story, const char *hash, char *text)
{
    char list[512];
    snprintf(list, sizeof list,
             "{'sha256': '%s', 'op': %zu, 'host': %d, 'target': 'hbm', "
             "'options': {'defrag': 'none'}}",
             hash, count_steps(story), story->host);
    text[0] = '\0';
    append(text,
           "{'format': 'hbmstress-certificate', 'version': 1, 'list': %s,\n"
           " 'claim': '%s', 'device': {'capacity': 65536, 'granule': 512},\n"
           " 'contract': %s,\n 'refused': %s,\n 'request': %s,\n 'blocks': [%s],\n"
           " 'proof': %s}\n",
           or_usual(story->list, list), or_usual(story->claim, "justified"),
           or_usual(story->contract, "{'defrag': 'none', 'drains': false, 'evicts': false, "
                                     "'program_evicts_program': false}"),
           or_usual(story->refused, "{'copy': false, 'wait': false, 'unload': false, "
                                    "'host_memory': false}"),
           or_usual(story->request, ASKED(buffer, 1048576, 512, 0, -1)),
           or_usual(story->blocks, ""), or_usual(story->proof, "{'kind': 'spans'}"));
    story_double_quotes(text);
}

enum certificate_result story_check(const char *list, const char *log, const char *document,
                                    char reason[CERTIFICATE_REASON_BYTES])
{
    memset(reason, '\n', CERTIFICATE_REASON_BYTES);
    const struct certificate_text list_text = {"list.ops", list, strlen(list)};
    const struct certificate_text log_text = {"log.jsonl", log, log == NULL ? 0 : strlen(log)};
    enum certificate_result result = CERTIFICATE_UNREADABLE;
    struct certificate_history *history = certificate_history_read(
        &list_text, log == NULL ? NULL : &log_text, reason);
    if (history != NULL) {
        result = certificate_check_with(document, strlen(document), history, reason);
    }
    certificate_history_destroy(history);
    for (const char *letter = reason; *letter != '\0'; letter++) {
        ck_assert(*letter >= ' ' && *letter <= '~');
    }
    return result;
}

void story_name_list(struct story_texts *texts)
{
    char hash[65], reason[CERTIFICATE_REASON_BYTES];
    (void)story_check(texts->list, NULL, texts->document, reason);
    if (sscanf(reason, "list: its SHA-256 is %64[0-9a-f],", hash) == 1) {
        memcpy(strstr(texts->document, "\"sha256\": \"") + 11, hash, 64);
    }
}

void story_write(const struct story *story, struct story_texts *texts)
{
    char hash[65] = "";
    write_list(story, texts->list);
    write_log(story, texts->log);
    memset(hash, '0', sizeof hash - 1);
    write_document(story, hash, texts->document);
    story_name_list(texts);
}
