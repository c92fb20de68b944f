# What bench/ has in Python.
add_test(NAME bench_peers_test COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/peers_test.py)
set_tests_properties(bench_peers_test PROPERTIES LABELS unit)
