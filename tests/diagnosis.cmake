# Why a run ended, and what would have helped.
hbmstress_add_test(test_causes LIBS diagnosis targets)
hbmstress_add_test(test_leak LIBS diagnosis targets m SOURCES leak_traces.c)
