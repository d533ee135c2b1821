/* Every plant that is no libhbm with a defect, but another target of targets/ with one: one line
 * each, in the order in which they are listed; the file that defines it says what it is. */
/* clang-format off */
TOY_PLANT(header_aligned)
TOY_PLANT(paged_neighbours)
TOY_PLANT(paged_mismapped)
TOY_PLANT(paged_leaking)
TOY_PLANT(hidden_leaking)
TOY_PLANT(buddy_middle)
TOY_PLANT(buddy_unmerged)
TOY_PLANT(buddy_late)
TOY_PLANT(stream_crossed)
TOY_PLANT(stream_forgets)
TOY_PLANT(stream_stuck)
TOY_PLANT(stream_uses)
TOY_PLANT(record_reused)
TOY_PLANT(record_freed)
TOY_PLANT(record_undropped)
