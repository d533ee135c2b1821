hbmstress_add_test(test_generate LIBS harness targets)
hbmstress_add_test(test_faulting LIBS scenarios targets)
hbmstress_add_test(test_scenarios LIBS scenarios targets)
hbmstress_add_test(test_scenarios_hbm LIBS scenarios targets)
