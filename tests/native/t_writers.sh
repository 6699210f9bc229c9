#!/bin/bash
# SPDX-License-Identifier: MIT
# Ten thousand killed writers, and a thousand concurrent threads that also fork; then
# fewer of both, and the stress test, with delays between the instructions of the
# critical sections.
# test-timeout: 600
. "$(dirname "$0")/lib.sh"

need objdump
seed=${SEED:-$(date +%s)}
echo "seed $seed"

"$helpers/writers" kill "${KILLS:-10000}" "$seed"
"$helpers/writers" threads 1024

# Again, with a library that is built with delays in its critical sections
delays=$(objdump -d "$helpers/slow/writers" | grep -c 'pause')
[ "$delays" -gt 200 ] || fail "only $delays delays"
"$helpers/slow/writers" kill 1000 "$seed"
"$helpers/slow/writers" threads 1024
CK_VERBOSITY=normal "$helpers/slow/check_stress"
