/* Who had the memory of a shared device when another host asked for it, before the causes: the
 * job's doing. */
#include "diagnosis/shortage.h"
#include "explain/private/explain_parts.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <inttypes.h>

enum { INDENT = 4 };

void explain_shortages(struct explanation *explanation)
{
    const struct shortages *shortages = &explanation->shortages;
    struct writing *text = &explanation->text;
    if (explanation->is_json) {
        shortages_append_json(shortages, text);
        return;
    }
    if (shortages->total > 0) {
        writing_append(text, "\nThe shared device was short (no promise of the allocator)\n");
    }
    for (size_t i = 0; i < shortages->count; i++) {
        struct writing words;
        writing_init(&words);
        shortage_append(&shortages->shortages[i], &words);
        writing_append(&words, ".");
        writing_append(text, "  ");
        wrap_append(text, writing_string(&words), INDENT, screen_columns());
        writing_append(text, "\n");
        writing_deinit(&words);
    }
    if (shortages->total > shortages->count) {
        writing_append_format(text, "  it was short %" PRIu64 " more times\n",
                              shortages->total - shortages->count);
    }
}
