/* Every scenario: one line each, in the order in which a run without names takes them. */
/* clang-format off */
SCENARIO(fragmentation_storm)
SCENARIO(queued_free_race)
SCENARIO(eviction_pressure)
SCENARIO(host_skew)
SCENARIO(training_step)
SCENARIO(recompilation_churn)
SCENARIO(slow_leak)
SCENARIO(exact_edge)
SCENARIO(defrag_published)
SCENARIO(late_program)
