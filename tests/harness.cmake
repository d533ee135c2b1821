hbmstress_add_test(test_ops_file LIBS harness)
hbmstress_add_test(test_span_map LIBS harness)
hbmstress_add_test(test_packing LIBS harness)
hbmstress_add_test(test_oracle LIBS harness)
