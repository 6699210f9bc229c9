#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks the ring's protocol in every order of its instructions: no violation in any
# scenario, and a violation in every mutant. DEPTH (default 1) sets the bounds: each step
# adds an event per writer, and a buffered store per CPU. At depths above 1, scenarios
# with two threads need some GiB of memory. TSCT_TIER=fast: the scenarios that take little time.
# test-fast: yes
# test-timeout: 7200
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${O:-$here/../../build}")

make -s -C "$here" O="$out" >&2
scenarios=()
[ "${TSCT_TIER:-}" != fast ] ||
	scenarios=(user-shared user-full user-overwrite kernel-discard kernel-overwrite)
exec "$out/tests/model/model" --depth "${DEPTH:-1}" "${scenarios[@]}"
