#!/bin/bash
# SPDX-License-Identifier: MIT
# merge of CTF traces of other tracers: all events, fields and losses are as babeltrace2 reads
# them; times are within their bounds of the true ones, in a world where these are known; what
# has no time, or is damaged, or is another kind of trace, is refused with the reason.
# test-wing: ctf
. "$(dirname "$0")/lib.sh"
need babeltrace2
export TSCTRACE_RUN_DIR=$work/none	# no history of this host
make() { python3 "$here/ctf_make.py" "$@"; }
compare() { { "$ctl" dump --json "$1" 2>"$work/dump.err" || [ $? = 3 ]; } | /usr/bin/python3 "$here/ctf_check.py" "${@:2}"; }
truth() { "$ctl" dump --json --error="$1" "$2" | python3 "$here/align_check.py" known "${@:3}"; }
merge() { "$ctl" merge --history "$work/world" "$@" >"$work/out" 2>"$work/err"; }
gives() {	# STATUS, then arguments of merge
	local wanted=$1 got=0
	shift
	merge "$@" || got=$?
	[ "$got" = "$wanted" ] || fail "merge $*: status $got"
}
refused() {	# REASON, then arguments of merge
	gives 1 -o "$work/no" "${@:2}"
	says "$1"
	[ ! -e "$work/no" ] || fail "a refused merge leaves something"
}
world() {	# EVENTS STEP_NS [SUSPEND_NS]: sets boot
	rm -rf "$work/world"
	mkdir "$work/world"
	boot=$("$helpers/ctf_world" "$work/world" "$1" "$2" "${3:-0}")
	rm -rf "$work/b"
	make stamps "$work/b" "$boot" <"$work/world/stamps"
}
echo 1..10

# --- the truth -----------------------------------------------------------------------------
world 100000 0
gives 0 -q -o "$work/m" "$work/world/a" "$work/b"
truth common "$work/m" true_ns number >"$work/out" || fail "times of the cluster"
grep -q '100000 events, 0 outside' "$work/out" || fail "events"
first=$(cat "$work/out")
compare "$work/m" "$work/b" node-b >"$work/out" || fail "fields"
gives 0 --json -o "$work/m1" "$work/b"
shows '"compared": *"clock"'
truth clock "$work/m1" real_ns >"$work/out" || fail "CLOCK_REALTIME"
ok "recording and trace alternate: $first; alone: $(cat "$work/out")"

# Twice, and in the other order: the same events and bounds
gives 0 -q -o "$work/m2" "$work/world/a" "$work/b"
diff -r "$work/m" "$work/m2" || fail "another result of the same merge"
refused 'holds the same recording' "$work/b" "$work/b"
for verb in stat 'export -q -f ctf' 'export -q -f json'; do
	# shellcheck disable=SC2086
	run 0 $verb ${verb:+$([ "$verb" = stat ] || echo "-o $work/x")} "$work/m1"
	rm -rf "$work/x"
done
ok "the same merge twice; other verbs take the result"

# --- CLOCK_REALTIME is set, or the machine sleeps, within the trace ----------------------------
for step in '-2000000000' '3000000000' '0 7000000000' '-2000000000 5000000000'; do
	# shellcheck disable=SC2086
	world 2000 $step
	rm -rf "$work/m" "$work/m1"
	gives 0 -q -o "$work/m" "$work/world/a" "$work/b"
	truth common "$work/m" true_ns number >"$work/out" || fail "step $step: cluster"
	gives 0 -o "$work/m1" "$work/b"
	[ "$step" != -2000000000 ] || says 'were raised; their bounds allow for that'
	truth clock "$work/m1" real_ns >"$work/out" || fail "step $step: CLOCK_REALTIME"
done
ok "steps of CLOCK_REALTIME, and suspends"

# Values of the clock that are off, by as much as the trace states
world 2000 0
make stamps "$work/off" "$boot" 0 2500 <"$work/world/stamps"
rm -rf "$work/m"
gives 0 -q -o "$work/m" "$work/off"
truth clock "$work/m" real_ns >"$work/out" || fail "precision of the clock"
ok "values with an error: $(cat "$work/out")"

# --- events and fields -----------------------------------------------------------------------
world 2000 0
make types "$work/le" "$boot" le
make types "$work/be" "$boot" be
make clocks "$work/clocks" "$boot"
make lost "$work/lost" "$boot"
make classes "$work/classes" "$boot" 2000
for trace in le be clocks classes; do
	rm -rf "$work/m"
	gives 0 -o "$work/m" "$work/$trace"
	[ $trace != clocks ] || says '1 packets state an invalid CPU number: their events are shown on CPU 0'
	compare "$work/m" "$work/$trace" >"$work/out" || fail "$trace: fields"
done
says 'no\\x1b\[31mde\\x0a (merged)'
gives 3 -o "$work/m3" "$work/lost"
says '1 packets were lost, with an unknown number of events'
compare "$work/m3" "$work/lost" >"$work/out" || fail "fields, with losses"
grep -q '^40 events, 105 lost' "$work/out" || fail "losses"
grep -q '105 events were lost while recording: full 105' "$work/dump.err" || fail "losses in dump"
for header in compact large; do
	make kernel "$work/$header" "$boot" $header
	rm -rf "$work/m"
	gives 0 -o "$work/m" "$work/$header"
	compare "$work/m" "$work/$header" >"$work/out" || fail "fields of the kernel, $header"
	grep -q '^600 events, 56 lost' "$work/out" || fail "kernel, $header"
	grep -q '56 events were lost while recording: full 56' "$work/dump.err" || fail "losses"
	grep -c kernel.chan "$work/m/metadata" >"$work/out" || fail "channel"
done
ok "types in both byte orders, clocks, losses, many classes, the kernel's events"

# --- what has no time ------------------------------------------------------------------------
other=00000000000000000000000000000001
make types "$work/other" "$other" le
refused "no history of the clocks of boot $other of node-b is in $work/world" "$work/other"
refused 'clock .monotonic. cannot be converted: no history' "$work/other"
refused "other: the time .* no history of the clocks" "$work/b" "$work/other"
gives 0 -q -o "$work/m8" --force "$work/b" "$work/other"
"$ctl" dump --json "$work/m8" | grep -c '"stamp"' >"$work/out" || fail "one of two without a history"
gives 0 -o "$work/m4" --boot "$boot" "$work/other"
gives 0 -o "$work/m5" --force "$work/other"
says 'times without an error bound, as the trace states them'
"$ctl" stat "$work/m5" >"$work/out" 2>&1 || fail "stat"
"$ctl" dump --json --error -n 1 "$work/m5" | grep -q "\"error_ns\":null" || fail "a bound"
mkdir "$work/odd"
sed 's/monotonic/odd/g' "$work/le/metadata" >"$work/odd/metadata"
cp "$work/le/chan_3" "$work/odd/"
refused "clock 'odd' cannot be converted: its name is not that of a kernel clock.*--clock" "$work/odd"
gives 0 -o "$work/m6" --clock monotonic "$work/odd"
compare "$work/m6" "$work/odd" >"$work/out" || fail "--clock"
# Events before the history, and a clock of a time namespace
printf '%s\n' '1 1 1000' >"$work/stamps"
make stamps "$work/old" "$boot" <"$work/stamps"
refused 'before all that is recorded of this boot' "$work/old"
make stamps "$work/space" "$boot" 1234567890123456789 <"$work/world/stamps"
refused 'recorded in a time namespace, or CLOCK_REALTIME was set' "$work/space"
gives 0 -o "$work/m7" --force "$work/space"
truth clock "$work/m7" real_ns >"$work/out" || fail "--force: by the history"
ok "unknown boots, clocks and times"

# --- damage ----------------------------------------------------------------------------------
damaged=0
for place in $(seq 30 97 1500); do
	rm -rf "$work/bad" "$work/x"
	cp -r "$work/le" "$work/bad"
	printf '}' | dd of="$work/bad/metadata" bs=1 seek="$place" conv=notrunc status=none
	merge -q -o "$work/x" "$work/bad" && status=0 || status=$?
	[ "$status" -le 1 ] || fail "metadata changed at $place: status $status"
	[ "$status" = 0 ] || [ ! -e "$work/x" ] || fail "a refused merge leaves something"
	[ "$status" = 0 ] || [ -s "$work/err" ] || fail "no reason"
	damaged=$((damaged + status))
done
[ "$damaged" -gt 3 ] || fail "no damage: no test"
while read -r reason odd; do
	rm -rf "$work/bad"
	cp -r "$work/le" "$work/bad"
	rm "$work/bad/chan_3"
	(cd "$work/bad" && $odd chan_3)
	refused "bad/chan_3: $reason: .*restore or remove it" "$work/bad"
done <<-END
	not.a.regular.file mkfifo
	No.such.file.or.directory ln -s nowhere
	Too.many.levels.of.symbolic.links ln -s chan_3
END
# A link to a file is as good as the file.
rm -rf "$work/bad/chan_3" "$work/m" "$work/x"
ln -s ../le/chan_3 "$work/bad/chan_3"
gives 0 -q -o "$work/m" "$work/bad"
gives 0 -q -o "$work/x" "$work/le"
grep 'uuid = ' "$work/m/metadata" | diff - <(grep 'uuid = ' "$work/x/metadata") ||
	fail "another UUID by a link"
size=$(stat -c %s "$work/le/chan_3")
for cut in 1 70 $((size / 3)) $((size - 1)); do
	rm -rf "$work/bad" "$work/x"
	cp -r "$work/le" "$work/bad"
	truncate -s "$cut" "$work/bad/chan_3"
	refused "use --salvage" "$work/bad"
	merge -q --salvage -o "$work/x" "$work/bad" && status=0 || status=$?
	if [ "$cut" -gt 1000 ]; then
		[ "$status" = 3 ] || fail "cut at $cut: status $status"
		"$ctl" dump "$work/x" >"$work/out" 2>/dev/null || [ $? = 3 ] || fail "dump"
		[ $(($(wc -l <"$work/out") % 50)) = 0 ] && [ -s "$work/out" ] || fail "whole packets"
	else
		[ "$status" = 1 ] || fail "nothing is left, status $status"
	fi
done
ok "changed metadata ($damaged refused), truncated streams"

# --- other files -----------------------------------------------------------------------------
printf 'PERFILE2' >"$work/perf.data"
refused 'a perf.data file' "$work/perf.data"
printf '\027\010\104tracing' >"$work/trace.dat"
refused 'a trace.dat of trace-cmd' "$work/trace.dat"
printf '{"traceEvents": []}' >"$work/t.json"
refused 'a Chrome trace in JSON' "$work/t.json"
touch "$work/t.perfetto-trace"
refused 'a Perfetto trace' "$work/t.perfetto-trace"
refused 'the metadata of a CTF trace; give its directory' "$work/le/metadata"
ok "other kinds of traces"

# --- CTF 2 -----------------------------------------------------------------------------------
make ctf2 "$work/new" "$boot"
"$ctl" export -q -f ctf2 -o "$work/own2" "$work/world/a" || fail "export"
if babeltrace2 --version | grep -q ' 2\.0\.'; then
	for trace in new own2; do
		refused "$trace: a CTF 2 trace, which libbabeltrace2 2.0 cannot read" "$work/$trace"
	done
	echo "# libbabeltrace2 is older than 2.1: traces of CTF 2 are only refused, none is read"
	ok "CTF 2 is refused"
else
	gives 0 -q -o "$work/m10" "$work/world/a" "$work/new"
	compare "$work/m10" "$work/new" node-b >"$work/out" || fail "fields of CTF 2"
	new=$(cat "$work/out")
	gives 0 -q --force -o "$work/m11" "$work/own2"
	compare "$work/m11" "$work/own2" >"$work/out" || fail "fields of our export"
	new+="; our export: $(cat "$work/out")"
	sed -i 's/"version": 2/"version": 3/' "$work/new/metadata"
	refused 'new: ' "$work/new"
	ok "CTF 2: $new"
fi

# --- wrong usage -----------------------------------------------------------------------------
gives 2 -o "$work/no" --boot xyz "$work/b"
says "'xyz': not a boot id"
gives 2 -o "$work/no" --clock wall "$work/b"
says 'realtime, monotonic, monotonic_raw, boottime or tsc'
ok "usage"
