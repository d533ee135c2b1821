/* Edits draw these of hosts that have a time and groups of their own. */
#ifndef FUZZ_MUTATE_MUTATE_MESH_H
#define FUZZ_MUTATE_MUTATE_MESH_H

#include "fuzz/mutate/mutate_edit.h"

/* Each host gets a time of its own, some of them another clock.  False: they have it already, there
 * is one host, or there are lanes, which have one time. */
bool mesh_draw_time(const struct editing *editing);
/* Members of a group among so many hosts (2 at least), a bit each: `with` and others, mostly one.
 */
uint64_t mesh_draw_members(struct random *random, uint32_t host_count, uint32_t with);
/* A small number, so that edits meet in few groups. */
uint16_t mesh_draw_number(struct random *random);
/* Declares a group in place of one that had the number. */
void mesh_declare(struct input *input, uint16_t number, uint64_t members);

#endif
