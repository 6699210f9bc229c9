# SPDX-License-Identifier: MIT
# Helpers of the tests t_*.sh, which read this file
ko=/lib/modules/tsctrace.ko
clocksource=/sys/devices/system/clocksource/clocksource0/current_clocksource
online=/sys/devices/system/cpu/cpu1/online

# Ends the test. `evidence` names the files that explain a failure.
evidence=
fail() {
	echo "$*"
	for file in $evidence; do
		[ ! -s "$file" ] || { echo "--- $file:"; tail -n 60 "$file"; }
	done
	exit 1
}

# Waits until a command succeeds, which is run each $poll_us. The limit detects a hang only: a
# busy host may stop the guest for seconds.
wait_for() {	# WHAT COMMAND...
	what=$1 tries=0
	shift
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 1000 ] || fail "waiting: never: $what"
		usleep ${poll_us:-100000}
	done
}

# Prints the number of repeats: the one that is asked for, or the second if all repeats are
# wanted, or else the first.
repeats() {	# WANTED FEW ALL
	[ "${TSCT_TIER:-}" = all ] && set -- "$1" "$3"
	echo "${1:-$2}"
}

kill_now() {	# PID
	kill -9 "$1"
	wait "$1" || true
}
# Ends a process by a signal. Its exit status has to be 0.
end_by() {	# SIGNAL PID
	kill -"$1" "$2"
	wait "$2" || fail "SIG$1: exit status $?"
}

run() {	# WANTED-STATUS COMMAND...: output in the files out and err
	want=$1 got=0
	shift
	"$@" >out 2>err || got=$?
	[ $got = "$want" ] || fail "$* gave $got, not $want"
}

# Time stamps do not decrease on a CPU. They are compared as text, as awk's numbers have 53 bits.
in_order() {	# OUTPUT-OF-DUMP-RAW
	awk 'length($1) < length(last[$2]) || (length($1) == length(last[$2]) &&
		$1 "" < last[$2] "") { print; exit 1 } { last[$2] = $1 }' "$1"
}
