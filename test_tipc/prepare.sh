#!/bin/bash
# Makes the data and models that a config needs: bash test_tipc/prepare.sh CONFIG MODE [flags of octet tipc]
source "$(dirname "${BASH_SOURCE[0]}")/common_func.sh"
find_octet
exec octet tipc prepare "$@"
