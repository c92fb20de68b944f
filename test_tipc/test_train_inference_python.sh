#!/bin/bash
# Tests training, evaluation, export and inference: bash test_tipc/test_train_inference_python.sh CONFIG MODE [flags of octet tipc]
source "$(dirname "${BASH_SOURCE[0]}")/common_func.sh"
find_octet
exec octet tipc run "$@"
