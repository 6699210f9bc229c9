#!/bin/bash
# SPDX-License-Identifier: MIT
# The ring's protocol, in every order that its instructions can come in: nothing
# violated in any scenario, and every mistake that is made on purpose found.
# DEPTH (1) makes it larger: an event more per writer, and more stores that wait.
# What two threads do grows by far the most; have some GiB of memory for that.
# test-parallel: yes
# test-seconds: 45
# test-timeout: 7200
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${O:-$here/../../build}")

make -s -C "$here" O="$out" >&2
exec "$out/tests/model/model" --depth "${DEPTH:-1}"
