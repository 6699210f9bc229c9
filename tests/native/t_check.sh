#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl check on this machine: prints one line per CPU of the affinity mask. Its
# verdict and exit status match the fields `usable` and `aux_match` of --json.
# test-fast: yes
. "$(dirname "$0")/lib.sh"

# Prints the value of a top-level key in $work/json.
value() { sed -n "s/^  \"$1\": \"\\{0,1\\}\\(.*[^\",]\\)\"\\{0,1\\},\\{0,1\\}\$/\\1/p" "$work/json"; }

status=0
"$ctl" check --json >"$work/json" || status=$?
[ "$status" -le 1 ] || fail "exit status $status"
want=1
if [ "$(value usable)" = true ] && [ "$(value aux_match)" = true ]; then
	want=0
fi
[ "$status" = "$want" ] || fail "exit status $status does not match the table"
clocksource=$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)
[ "$(value clocksource)" = "$clocksource" ] || fail "clocksource: $(value clocksource)"

# If the kernel's clocksource is tsc, events must be stamped with TSC cycles, too.
if [ "$clocksource" = tsc ]; then
	[ "$(value usable) $(value source)" = "true tsc" ] || fail "not usable"
fi
case $(value usable):$(value verdict) in
true:"time stamps are TSC cycles"*) ;;
false:"time stamps fall back to "*because*) ;;
*) fail "usable $(value usable), but verdict: $(value verdict)" ;;
esac

# From user space, only the CPUs of the affinity mask are checked.
if [ "$(value checked_by)" = "user space" ]; then
	[ "$(grep -c '^      "cpu":' "$work/json")" = "$(nproc)" ] ||
		fail "not one entry per CPU"
	for cpu in 0 $(($(nproc) - 1)); do
		taskset -c "$cpu" true 2>/dev/null || continue
		status=0
		taskset -c "$cpu" "$ctl" check >"$work/out" || status=$?
		[ "$status" -le 1 ] || fail "on CPU $cpu: status $status"
		awk -v cpu="$cpu" 'NR == 2 && $1 == cpu { ok = 1 }
			NR == 3 && NF { ok = 0 } END { exit !ok }' "$work/out" ||
			fail "on CPU $cpu: $(cat "$work/out")"
	done
fi
case $(value rdtscp):$(value tsc_khz) in
true:[1-9]*[0-9][0-9][0-9][0-9][0-9]|false:null) ;;
*) fail "tsc_khz is $(value tsc_khz)" ;;
esac
grep -q '"skew_min_ticks"' "$work/json" || [ "$(value rdtscp)" = false ] ||
	fail "no skew_min_ticks in the JSON"

run 2 check extra
run 2 check --nonsense
run 0 check --help
run "$want" check --run

# Lost output is an error, in commands and in argp's help, which calls exit().
list='record -e list'
has_wing kernel || list=status
for command in check 'check --json' help 'help record' 'check --help' "$list" --version \
		'status --json'; do
	# shellcheck disable=SC2086
	exits 1 "$ctl" $command >/dev/full 2>"$work/err"
	[ "$(grep -c "standard output: No space left on device; send" \
		"$work/err")" = 1 ] || fail "$command: $(cat "$work/err")"
done
echo "$(nproc) CPUs, $(value verdict)"
