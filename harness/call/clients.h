/* The knowledge of client threads when several of them call: the handles that calls gave them, and
 * which of their calls name what.  A client does not free what another of its calls is using, and
 * does not use what a call of it frees. */
#ifndef HARNESS_CALL_CLIENTS_H
#define HARNESS_CALL_CLIENTS_H

#include "harness/call/call.h"
#include "harness/model/model.h"

struct clients;

/* For a list of op_count ops. */
struct clients *clients_create(size_t op_count);
void clients_destroy(struct clients *clients);
/* Forgets all calls: the list begins anew. */
void clients_clear(struct clients *clients);

/* Returns what op made on that host: kind, handle, size_bytes, hold_count and is_known are set.
 * NULL: it made nothing, or its handle ended. */
const struct block *clients_block(const struct clients *clients, uint8_t host, uint32_t op);

/* 0 while the op may begin, as far as calls under way are concerned that name the same block; NULL:
 * always. */
const uint32_t *clients_gate(const struct clients *clients, const struct op *op);
/* False: a release for which no hold is left that another call under way does not give back
 * already. */
bool clients_may_begin(const struct clients *clients, const struct op *op);
/* The call for the op begins; call is over, whatever it came to. */
void clients_begin(struct clients *clients, const struct op *op);
void clients_end(struct clients *clients, const struct call *call);
/* True if the lane's last call asked for the same as the op, and was answered out of memory. */
bool clients_were_refused(const struct clients *clients, const struct op *op);

#endif
