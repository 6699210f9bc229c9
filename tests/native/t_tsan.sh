#!/bin/bash
# SPDX-License-Identifier: MIT
# Threads under the thread sanitizer, which finds data races by the C11 model, also where x86
# orders more: the latch; the in-process clock, which threads read by all functions and refresh
# without a pause (also without the sanitizer); writers, the reader and the memfd server, but
# for the assembly of the critical sections, which is not instrumented; several readers of one
# ring, and a reader of all CPUs' events in order, with writers in C.
. "$(dirname "$0")/lib.sh"

export TSCTRACE_RUN_DIR=$work/none TSAN_OPTIONS="halt_on_error=1 exitcode=66"
CK_FORK=no "$helpers/tsan/check_latch"
"$helpers/hammer" 5
"$helpers/tsan/hammer" 10
CK_VERBOSITY=normal "$helpers/tsan/check_stress"
for check in reader_account reader_ordered; do
	CK_VERBOSITY=normal CK_INCLUDE_TAGS=live "$helpers/tsan/check_$check" | tee "$work/out"
	grep -q '^100%: Checks: [1-9]' "$work/out"
done
