#!/bin/bash
# SPDX-License-Identifier: MIT
# Starts and kills KILLS (1000) daemons while threads read their clocks (killer.c).
# test-timeout: 400
. "$(dirname "$0")/lib.sh"

seed=${SEED:-$(date +%s)}
echo "seed $seed"

# Three killer processes run in parallel, each with its own daemon, as a killer process
# mostly waits for its daemon.
kills=${KILLS:-1000} parts=3 status=0
for ((i = 0; i < parts; i++)); do
	"$helpers/killer" "$daemon" "$work/run$i" \
		$(((kills + i) / parts)) $((seed + i)) >"$work/out$i" 2>&1 & pids+=($!)
done
for ((i = 0; i < parts; i++)); do
	wait "${pids[i]}" && cat "$work/out$i" && continue
	status=1
	cat "$work/run$i.log" || true
	sed 's/^/FAILED: /' "$work/out$i"
done
exit $status
