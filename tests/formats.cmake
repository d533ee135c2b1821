hbmstress_add_test(test_formats LIBS formats)
hbmstress_add_test(test_formats_tpu_message LIBS formats targets PkgConfig::JANSSON)
hbmstress_add_test(test_static_planning LIBS formats targets)
