# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sessions of LTTng-UST for the benchmarks. The session and the folder $work are removed
# at exit.
lttng_session='' sessiond='' work=''
end_session() {
	[ -z "$lttng_session" ] || lttng -n destroy "$lttng_session" >/dev/null
	lttng_session=
}
clean_up() {
	end_session
	[ -z "$sessiond" ] || kill "$sessiond"
	[ -z "$work" ] || rm -rf "$work"
}
trap clean_up EXIT

create_session() {	# OPTION-OF-CREATE; starts LTTng's daemon if none runs
	if ! lttng -n list >/dev/null 2>&1; then
		lttng-sessiond --no-kernel >/dev/null 2>&1 &
		sessiond=$!
		timeout 10 sh -c 'until lttng -n list >/dev/null 2>&1; do sleep 0.1; done'
	fi
	lttng_session=tsctrace-bench-$$
	lttng -n create "$lttng_session" "$1" >/dev/null
}

count_events() {	# DIR: prints the number of events by babeltrace2
	babeltrace2 "$1" -c sink.utils.counter 2>/dev/null |
		sed -n 's/^ *\([0-9]*\) Event messages*$/\1/p' | tail -n 1
}
