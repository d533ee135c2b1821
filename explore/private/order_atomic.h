/* Decides which atomic operations order what comes before them and after them, as C17 says (5.1.2.4
 * and 7.17.3).  A store that does not release ends what another lane released, an update carries it
 * on, fences work through relaxed operations. */
#ifndef EXPLORE_PRIVATE_ORDER_ATOMIC_H
#define EXPLORE_PRIVATE_ORDER_ATOMIC_H

#include "explore/order.h"

void order_atomic_load(struct order *order, uint8_t lane, const void *object, bool acquires);
void order_atomic_store(struct order *order, uint8_t lane, const void *object, bool releases);
/* The store of an update (exchange, fetch_add, a compare_exchange that succeeded), after its load.
 */
void order_atomic_update(struct order *order, uint8_t lane, const void *object, bool releases);
void order_atomic_fence(struct order *order, uint8_t lane, bool acquires, bool releases);

/* Does as order_access() for the access of an atomic operation: it races with plain ones only.
 * After the load's part of the order, before the store's. */
bool order_atomic_access(struct order *order, const struct access *access, const void *address,
                         size_t size_bytes, struct race *race);

#endif
