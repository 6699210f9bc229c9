#!/bin/bash
# SPDX-License-Identifier: MIT
#
# serve.sh [ROUNDS [SECONDS]] - throughput of a server, and floods of requests
#
# Prints "name value unit" lines; medians of ROUNDS (3). Needs two CPUs: clients run on
# CPU 1, servers on CPU 0.
#
#   *_answers, *_answer_cpu	answers per second of a server to one generator, without a
#			rate limit, and CPU time per answer: chronyd and tsctraced in
#			turns, 3 s each, under SCHED_RR so that no other process runs
#   quiet_*, flood_*	error of a child with a key that polls its master four times a
#			second: the truth is zero, as all share one counter. SECONDS (60)
#			without a flood; then SECONDS with 105,000 requests a second to the
#			master from random addresses that the ACL allows: a fourth each
#			without an extension field, with one, with a false MAC, and of
#			random bytes; then to both master and child (flood2_*)
#   *_lost		requests of the child that were not answered
#   *_growth		growth of the master's memory after a first flood of one second
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
rounds=${1:-3} seconds=${2:-60}
make -C "$here/../../native" --no-print-directory >&2
. "$here/../../native/sync.sh"
chronyd=$("$top/tests/native/ntp.sh" chrony)
${CC:-cc} -O2 -o "$work/load" "$bench/load.c"
[ "$(nproc)" -gt 1 ] || { echo "serve.sh: needs two CPUs" >&2; exit 1; }

printf '# %s\n' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" \
	"$(nproc) CPUs, load $(cut -d' ' -f1-3 /proc/loadavg), $(uname -r)"

cpu_ns() { cut -d' ' -f1 "/proc/$1/schedstat"; }
stop() { kill "$@"; wait "$@" 2>/dev/null || true; }

# --- throughput of a server ------------------------------------------------------------
net server
net client
join server 10.78.1.1/24 client 10.78.1.2/24
mkdir "$work/server"
printf '%s\n' "pidfile $work/pid" "bindcmdaddress $work/sock" "cmdport 0" "user root" \
	"hwtimestamp *" "local stratum 5" "allow 10.78.1.0/24" >"$work/chrony"
printf '%s\n' serve "allow 10.78.1.0/24" "ratelimit off" >"$work/server/conf"

load() {	# NAME COMMAND...
	local before text
	in_net server chrt -r 1 taskset -c 0 "${@:2}" >"$work/$1.out" 2>&1
	sleep 3
	before=$(cpu_ns "$pid")
	text=$(within "${net_id}client" chrt -r 1 taskset -c 1 "$work/load" 10.78.1.1 123 3)
	awk -v ns=$(($(cpu_ns "$pid") - before)) '{ print $3 / 3, ns / $3 / 1000 }' \
		<<<"$text" >>"$work/$1.answers"
	stop "$pid"
}
for ((round = 0; round < rounds; round++)); do
	load chrony "$chronyd" -x -d -f "$work/chrony"
	load ours "$daemon" --no-module --run-dir "$work/server" \
		--config "$work/server/conf"
done

# --- a flood -----------------------------------------------------------------------------
for i in master child crowd; do net $i; done
join master 10.77.1.1/24 child 10.77.1.2/24
join crowd 10.77.2.9/24 master 10.77.2.1/24
join crowd 10.77.3.9/24 child 10.77.3.1/24
within "${net_id}master" ip route add default via 10.77.2.9
within "${net_id}child" ip route add default via 10.77.3.9
mkdir "$work/master" "$work/child"
(umask 077; echo "11 AES128 HEX:000102030405060708090a0b0c0d0e0f" >"$work/keys")
printf '%s\n' "keyfile $work/keys" "allow all" "child child 10.77.1.2 key 11" \
	>"$work/master/conf"
printf '%s\n' "keyfile $work/keys" serve "allow all" \
	"master 10.77.1.1 key 11 minpoll -2 maxpoll -2" >"$work/child/conf"
number=50
for i in master child; do
	in_net $i taskset -c 0 "$daemon" --no-module --host-id $((++number)) \
		--run-dir "$work/$i" --config "$work/$i/conf" 2>"$work/$i/log"
	printf -v "$i" %s "$pid"
done
wait_for "the child is synchronized" synced child

flood() {	# SECONDS ADDRESS...
	local address
	for address in "${@:2}"; do
		within "${net_id}crowd" taskset -c 1 "$helpers/strangers" "$address" 123 "$1" \
			105000 11 >"$work/flood.$address" &
		floods+=($!)
	done
}
requests() {
	of child "'%d %d' % (lambda s: (s['sent'], s['sent'] - s['answers']['taken']))(p['sources'][0])"
}
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$master/status"; }
look() {	# NAME ADDRESS...
	local sent lost sent_now lost_now floods=()
	read -r sent lost < <(requests)
	flood "$seconds" "${@:2}"
	taskset -c 1 "$helpers/synccheck" "$seconds" "$work/master" "$work/child" \
		>"$work/look" || fail "the timelines diverge: $(cat "$work/look")"
	read -r sent_now lost_now < <(requests)
	[ ${#floods[@]} -eq 0 ] || wait "${floods[@]}"
	{
		sed -n 's/.*median \([0-9]*\) ns, p90 \([0-9]*\) ns, p99 \([0-9]*\) ns.*/\1 \2 \3/p' \
			"$work/look"
		echo $((lost_now - lost)) $((sent_now - sent))
		for address in "${@:2}"; do
			awk 'END { print $1 / $4 }' "$work/flood.$address"
		done
	} | paste -sd' ' >>"$work/$1.look"
}
floods=()
flood 1 10.77.2.1 10.77.3.1
wait "${floods[@]}"
sleep 10				# waits, as estimates still improve at first
rss=$(rss)
for ((round = 0; round < rounds; round++)); do
	look quiet
	look flood 10.77.2.1
	look flood2 10.77.2.1 10.77.3.1
done
growth=$(($(rss) - rss))

python3 - "$work" <<'END'
import pathlib, statistics, sys

top = pathlib.Path(sys.argv[1])


def columns(name):
    rows = [[float(x) for x in line.split()] for line in (top / name).read_text().splitlines()]
    return [statistics.median(column) for column in zip(*rows)]


theirs, own = columns("chrony.answers"), columns("ours.answers")
for name, (answers, cpu_us) in (("chrony", theirs), ("ours", own)):
    print(f"{name}_answers {answers:.6g} answers/s")
    print(f"{name}_answer_cpu {cpu_us:.3g} us")
print(f"ours_vs_chrony_answers {own[0] / theirs[0]:.3g} ratio")
print(f"ours_vs_chrony_answer_cpu {own[1] / theirs[1]:.3g} ratio")
quiet = columns("quiet.look")
for name in ("quiet", "flood", "flood2"):
    found = columns(f"{name}.look")
    for label, value in zip(("median", "p90", "p99"), found):
        print(f"{name}_{label} {value:.4g} ns")
    print(f"{name}_lost {found[3]:.4g} requests of {found[4]:.4g}")
    for where, rate in zip(("master", "child"), found[5:]):
        print(f"{name}_at_{where} {rate:.6g} requests/s")
    for i, label in enumerate(("median", "p90", "p99") if name != "quiet" else ()):
        print(f"{name}_vs_quiet_{label} {found[i] / max(quiet[i], 1):.3g} ratio")
END
echo "flood_growth $growth kB"
