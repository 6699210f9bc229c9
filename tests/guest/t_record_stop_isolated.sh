#!/bin/sh
# SPDX-License-Identifier: MIT
# The same as t_record_stop.sh with CPUs that are isolated (isolcpus=2 nohz_full=3)
# guest-test: timeout=120 boot=big needs=btf
# guest-test: files=build/tools/trace-ctl,tests/guest/lib.sh,tests/guest/t_record_stop.sh
set -eu
TSCT_STORM='1 2 3'
. /tests/guest/t_record_stop.sh
