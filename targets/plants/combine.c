/* One target with several defects: the option `with` of a plant. */
#include "targets/plants/private/plant.h"

#include "harness/base/check.h"
#include "targets/targets.h"

#include <stdio.h>
#include <string.h>

#define PLANT(file, name, ...) extern const struct plant_defect plant_defect_##name;
#include "targets/plants/list.h"
#undef PLANT

/* Every plant: its defect, and the target that has it alone. */
struct planted {
    const char *name;
    const struct plant_defect *defect;
};
static const struct planted planted[] = {
#define PLANT(file, name, ...) {"plant_" #name, &plant_defect_##name},
#include "targets/plants/list.h"
#undef PLANT
};
enum { PLANTED_COUNT = sizeof planted / sizeof planted[0] };

/* The plant that has the first name of a list; NULL: there is none. */
static const struct planted *find_first(const char *list)
{
    const size_t length = strcspn(list, ",");
    for (size_t i = 0; i < PLANTED_COUNT; i++) {
        if (strlen(planted[i].name) == length && strncmp(planted[i].name, list, length) == 0) {
            return &planted[i];
        }
    }
    return NULL;
}

static const struct planted *find_defect(const struct plant_defect *defect)
{
    size_t i = 0;
    while (i < PLANTED_COUNT && planted[i].defect != defect) {
        i++;
    }
    CHECK(i < PLANTED_COUNT); /* each defect is that of a row */
    return &planted[i];
}

/* Returns the list after its first name; NULL: nothing follows. */
static const char *find_rest(const char *list)
{
    const char *comma = strchr(list, ',');
    return comma != NULL ? comma + 1 : NULL;
}

/* Requests, frees, counters and failures pass through one plant after the other.  At these places
 * the one would hide what the other does.  NULL: they share none. */
static const char *find_shared_place(const struct plant_defect *a, const struct plant_defect *b)
{
    const struct {
        const char *name;
        bool is_shared;
    } places[] = {
        {"use of blocks", a->use != NULL && b->use != NULL},
        {"hold of blocks", a->hold != NULL && b->hold != NULL},
        {"addresses of blocks",
         (a->locate != NULL || a->located != NULL) && (b->locate != NULL || b->located != NULL)},
        {"report", a->report != NULL && b->report != NULL},
        {"copies", a->copy != NULL && b->copy != NULL},
        {"waits for events", a->event_wait != NULL && b->event_wait != NULL},
        {"unloads", a->unload != NULL && b->unload != NULL},
        {"wakes", a->wake != NULL && b->wake != NULL},
        {"memory given back", a->unmap != NULL && b->unmap != NULL},
        {"memory taken again", a->map != NULL && b->map != NULL},
        {"restored stages", a->stage_copy != NULL && b->stage_copy != NULL},
        {"dropped stages", a->stage_drop != NULL && b->stage_drop != NULL},
        {"host memory", a->host_free_bytes != NULL && b->host_free_bytes != NULL},
        {"option of libhbm", a->forced.key != NULL && b->forced.key != NULL &&
                                 strcmp(a->forced.key, b->forced.key) == 0 &&
                                 strcmp(a->forced.value, b->forced.value) != 0},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i].is_shared) {
            return places[i].name;
        }
    }
    return NULL;
}

static bool may_combine(const struct planted *a, const struct planted *b, char *reason,
                        size_t reason_bytes)
{
    if (a == b) {
        (void)snprintf(reason, reason_bytes, "option with: %s is named twice", a->name);
        return false;
    }
    const char *place = find_shared_place(a->defect, b->defect);
    if (place != NULL) {
        (void)snprintf(reason, reason_bytes, "option with: %s and %s both change the %s", a->name,
                       b->name, place);
    }
    return place == NULL;
}

static const char *find_list(const struct target_setup *setup)
{
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (strcmp(setup->options[i].key, PLANT_WITH) == 0) {
            return setup->options[i].value;
        }
    }
    return NULL;
}

bool plant_find_inside(const struct plant_defect *outer, const struct target_setup *setup,
                       struct plant_inside *inside, char *reason, size_t reason_bytes)
{
    const char *list = find_list(setup);
    for (const char *at = list; at != NULL; at = find_rest(at)) {
        const struct planted *other = find_first(at);
        if (other == NULL) {
            (void)snprintf(reason, reason_bytes,
                           "option with=%s: no plant is named '%.*s' (hbmstress list targets)",
                           list, (int)strcspn(at, ","), at);
            return false;
        }
        if (!may_combine(find_defect(outer), other, reason, reason_bytes)) {
            return false;
        }
    }
    *inside = list == NULL
                  ? (struct plant_inside){&target_hbm, NULL}
                  : (struct plant_inside){target_find(find_first(list)->name), find_rest(list)};
    return true;
}
