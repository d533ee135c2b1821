#include "formats/export/export.h"

#include <stdlib.h>
#include <string.h>

const struct exporter *const exporters[] = {
#define EXPORTER(name) &exporter_##name,
#include "formats/export/list.h"
#undef EXPORTER
    NULL,
};

const struct exporter *exporter_find(const char *name)
{
    for (size_t i = 0; exporters[i] != NULL; i++) {
        if (strcmp(exporters[i]->name, name) == 0) {
            return exporters[i];
        }
    }
    return NULL;
}

const struct exporter *exporter_of_path(const char *path)
{
    const struct exporter *found = NULL;
    const size_t length = strlen(path);
    for (size_t i = 0; exporters[i] != NULL; i++) {
        const char *suffix = exporters[i]->suffix;
        const size_t size = suffix == NULL ? 0 : strlen(suffix);
        if (size > 0 && size < length && strcmp(path + length - size, suffix) == 0 &&
            (found == NULL || size > strlen(found->suffix))) {
            found = exporters[i];
        }
    }
    return found;
}

bool export_begin(const struct exporter *exporter, struct export *export)
{
    export->state = calloc(1, exporter->state_bytes + 1);
    return export->state != NULL && (exporter->begin == NULL || exporter->begin(export));
}

bool export_end(const struct exporter *exporter, struct export *export,
                const struct export_final *final)
{
    const bool is_good = export->state != NULL &&
                         (exporter->end == NULL || exporter->end(export, final));
    free(export->state);
    export->state = NULL;
    return is_good;
}

const char *export_action_name(enum export_action action)
{
    static const char *const names[EXPORT_ACTION_COUNT] = {
        [EXPORT_ALLOC] = "alloc",
        [EXPORT_FREE_REQUESTED] = "free_requested",
        [EXPORT_FREE_COMPLETED] = "free_completed",
        [EXPORT_EVICTED] = "evicted",
        [EXPORT_MOVED_OUT] = "moved_out",
        [EXPORT_MOVED_IN] = "moved_in",
        [EXPORT_RETIRED] = "retired",
        [EXPORT_FAILED] = "failed"};
    return names[action];
}

const char *export_tag(const struct setup *setup, uint8_t tag, char text[SETUP_NAME_BYTES])
{
    if (setup->tags[tag][0] != '\0') {
        snprintf(text, SETUP_NAME_BYTES, "%s", setup->tags[tag]);
    } else if (tag != 0) {
        snprintf(text, SETUP_NAME_BYTES, "%u", tag);
    } else {
        text[0] = '\0';
    }
    return text;
}
