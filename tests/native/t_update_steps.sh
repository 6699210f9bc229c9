#!/bin/bash
# SPDX-License-Identifier: MIT
# A publisher of the clock may be killed at any instruction of an update.
. "$(dirname "$0")/lib.sh"

# -O2 as in the build of the daemon: the test depends on the order of the stores.
"$helpers/stepper" 3
