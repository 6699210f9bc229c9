#!/bin/bash
# SPDX-License-Identifier: MIT
# Eight daemons on one timeline, each in a network namespace, on one bridge:
#
#   m (master) --+-- a, b, c, d	each with a key of its own
#                +-- t --+-- g
#                        +-- h	shares a host with t (synced-host)
#
# Network namespaces of one machine share its counter, so the true difference of two
# nodes is zero. A node passes if its time differs from the master's by at most its
# error bound.
. "$(dirname "$0")/sync.sh"
echo "1..$(has_collectives && echo 9 || echo 7)"
remark() { sed "s|$work/||g; s/^/# /"; }

children='a b c d t g h' all="m $children"
dirs=()
for i in $all; do dirs+=("$work/$i"); done
check() { "$helpers/synccheck" 1 "${dirs[@]}" >"$work/out" ||
	fail "off by more than the bound: $(cat "$work/out")"; remark <"$work/out"; }
each() {	# COMMAND...: succeeds if `COMMAND CHILD` succeeds for every child
	local i
	for i in $children; do "$1" "$i" "${@:2}" || return; done
}
status='p["cluster"]["status"]' epoch='p["cluster"]["epoch"]'

# --- configuration ---------------------------------------------------------------
wired 10.80.0 $all
(umask 077
for i in 11 12 13 14 15 17; do
	echo "$i AES128 HEX:$(od -An -N16 -tx1 /dev/urandom | tr -d ' ')"
done >"$work/keys")
{
	printf 'name m\nkeyfile %s\nsync-max-duration 60\n' "$work/keys"
	printf 'child %s 10.80.0.%d key %d\n' a 2 11 b 3 12 c 4 13 d 5 14 t 6 15
} >"$work/m/conf"
polls='minpoll -3 maxpoll -2'
conf() {	# NAME KEY MASTER
	printf 'name %s\nkeyfile %s\nmaster %s key %s %s\n' "$1" "$work/keys" "$3" \
		"$2" "$polls" >"$work/$1/conf"
}
conf a 11 10.80.0.1
conf b 12 10.80.0.1
conf c 13 10.80.0.1
conf d 14 10.80.0.1
conf t 15 10.80.0.1
printf 'sync-max-duration 60\nchild g 10.80.0.7 key 17\nchild h 10.80.0.8\n' >>"$work/t/conf"
conf g 17 10.80.0.6
echo 'sync-max-duration 60' >>"$work/g/conf"
printf 'name h\nmaster 10.80.0.6 %s\nsynced-host\n' "$polls" >"$work/h/conf"

# --- one timeline ------------------------------------------------------------------
start_node() {	# NAME: starts the node's daemon; h and t have one host id
	start "$1" "c$(printf %x "'${1/h/t}")"
}
for i in $all; do start_node $i; done
wait_for "all are synchronized" each synced
for i in $children; do
	is $i 'p["cluster"]["master"]' "$(of m 'p["node"]')" ||
		fail "$i has another master"
done
depths=$(for i in $children; do of $i '"%s is at depth %d" % (p["name"],
	p["sources"][0]["depth"] + 1)'; done)
echo "$depths" | remark
[ "$(grep -c 'depth 2$' <<<"$depths")" = 2 ] || fail "$depths"
check
ok "eight nodes are on one timeline"

# --- sessions ------------------------------------------------------------------------
taken() { of "$1" 'p["sources"][0]["answers"]["taken"]'; }
before=$(for i in a b c d t; do taken $i; done)
in_dir m timeout 300 "$ctl" sync >"$work/out" || fail "no session: $(cat "$work/out")"
took_part() {
	paste <(echo "$before") <(for i in a b c d t; do taken $i; done) |
		awk '$2 < $1 + 40 { bad = 1 } END { exit bad }'
}
wait_for "the master's children took part in its session" took_part
meets_g() {
	before=$(taken g)
	in_dir g timeout 300 "$ctl" sync --json >"$work/out" || return
	[ "$(taken g)" -ge $((before + 40)) ]
}
steadily meets_g || fail "a child's session: fewer than 40 exchanges: $(cat "$work/out")"
check
ok "sessions, of the master and of a child"

# --- recordings: sessions at the start and at the end ---------------------------------
record_all() {	# sets: why
	local i start end samples held=yes waits=()
	for i in $all; do
		rm -rf "$work/$i/trace"
		in_dir $i timeout 300 "$ctl" record --cluster -q -o "$work/$i/trace" -- sleep 1 \
			>"$work/$i/said" 2>&1 & waits+=($!)
	done
	for i in "${waits[@]}"; do wait "$i" || held=; done
	why="a recording: $(cat "$work"/*/said)"
	[ -n "$held" ] || return
	for i in $all; do
		read -r start end samples < <(stat_of "$work/$i/trace" '" ".join(
			str(s["sync"][k]) for k in "start end samples".split())')
		why="the recording of $i: sessions $start and $end, $samples samples"
		[ "$start $end" = "done done" ] && { [ $i = m ] || [ "$samples" -ge 60 ]; } || return
	done
}
steadily record_all || fail "$why"
master=$(of m 'p["node"]')
for i in $all; do
	read -r role of_node samples restarts < <(stat_of "$work/$i/trace" '" ".join(
		str(s["sync"][k]) for k in "role master samples restarts".split())')
	[ "$of_node $restarts" = "$master 0" ] || fail "the recording of $i: $of_node $restarts"
	[ $i = m ] || "$helpers/samplecheck" "$work/$i/trace" >"$work/out" ||
		fail "fits of $i: $(cat "$work/out")"
	echo "# recording of $i: $role, $samples samples"
done
ok "eight recordings at once, with a session at both ends"

if has_collectives; then
	# --- collectives -----------------------------------------------------------------------
	# MS NAME...: every node NAME calls tsct_timesync() with a timeout of MS ms. The outputs
	# are in $work/NAME/said.
	callers() {
		local ms=$1 i waits=()
		shift
		for i in "$@"; do
			in_dir "$i" "$helpers/timesync" "$ms" >"$work/$i/said" & waits+=($!)
		done
		for i in "${waits[@]}"; do wait "$i" || true; done
	}
	# MS FROM-US NAME...: succeeds if the calls of all nodes NAME returned within MS ms of
	# each other. Prints the time since FROM-US, which is the uptime in us before the calls.
	apart() {
		local ms=$1 from=$2 i
		for i in "${@:3}"; do sed -n 's/^at //p' "$work/$i/said"; done |
			sort -n | awk -v from="$from" -v most="$ms" '
			NR == 1 { first = $1 } { last = $1 }
			END { printf "# returned %.1f ms after the call, within %.1f ms\n",
				(last - from) / 1e3, (last - first) / 1e3
				exit !(last - first <= most * 1e3) }'
	}
	now_us() { awk '{ printf "%.0f\n", $1 * 1e6 }' /proc/uptime; }
	all_call() {	# sets: why
		local i since
		since=$(now_us)
		callers 20000 $all
		for i in $all; do
			why="timesync of $i: $(cat "$work/$i/said")"
			grep -q '^done$' "$work/$i/said" || return
		done
		why="they returned at very different times"
		apart 5000 "$since" $all
	}
	steadily all_call || fail "$why"
	check
	ok "tsct_timesync() from all eight"

	# All nodes but NAME call tsct_timesync(). The calls must time out with a message that
	# AS-REPORTED is missing: "NAME", or "NAME (below PARENT)" if NAME is a child of PARENT.
	missing() {	# NAME AS-REPORTED; sets: why, the reason of a failure
		local i since
		since=$(now_us)
		callers 3500 ${all/$1/}
		for i in ${all/$1/}; do
			grep -q "^ETIMEDOUT: not all nodes have called tsct_timesync(): $2 is missing$" \
				"$work/$i/said" || {
				why="$i, without $1: $(cat "$work/$i/said")"
				return 1
			}
		done
		head -n 1 "$work/a/said" | remark
		why="they timed out at very different times"
		apart 5000 "$since" ${all/$1/}
	}
	steadily missing d d || fail "$why"
	sleep 2		# waits until no node counts as a caller any more
	steadily missing g 'g (below t)' || fail "$why"
	ok "tsct_timesync() with one missing: all are told who"
fi

# --- synccheck measures while the master is killed and a link is down -------------------
watched() {
	end_by TERM "$watcher" "synccheck --watch:" "$work/watched"
	remark <"$work/watched"
}
# NAME: succeeds if the node was synchronized, then in holdover, then synchronized in the same epoch
goes_through() {
	grep -q "^$work/$1: \(.*, \)\?synchronized in epoch \([0-9]*\), holdover in epoch \2,.* \
synchronized in epoch \2; 0 steps" "$work/watched" || fail "$1 was not as expected: \
$(grep "/$1:.*epoch" "$work/watched")"
}
# NODE STATUS: succeeds if synccheck has seen it last in that state
seen() {
	[[ $(grep "^$work/$1: [a-z]* in epoch [0-9]*$" "$work/watched" | tail -n 1) == *": $2 in"* ]]
}
own() { is "$1" "$status" holdover && seen "$1" holdover; }
follows() { synced "$1" && seen "$1" synchronized; }
wait_for "all are synchronized" each synced
watch $all
wait_for "all are seen to be synchronized" each follows
slay m
wait_for "all children are in holdover" each own
start_node m
wait_for "all are synchronized again" each follows
logged m 'timeline [0-9]* continues' || fail "the master began another timeline"
watched
for i in $children; do goes_through $i; done
ok "a killed master is noticed, and goes on with its timeline"

watch $all
wait_for "all are seen to be synchronized" each follows
within "${net_id}wire" ip link set dev t down
below() { own t && own g && own h; }
wait_for "the nodes behind the link are in holdover" below
wait_for "a is synchronized meanwhile" synced a
within "${net_id}wire" ip link set dev t up
wait_for "all are synchronized again" each follows
watched
for i in t g h; do goes_through $i; done
ok "a part of the tree is cut off, and comes back"

# --- a master that starts without its saved state ---------------------------------------
epochs() { for i in $children; do of $i "$epoch"; done; }
before=$(epochs)
slay m
find "$work/m" -mindepth 1 ! -name conf ! -name log -delete
start_node m
others() {
	paste <(echo "$before") <(epochs) |
		awk '$2 <= $1 { bad = 1 } END { exit bad }'
}
wait_for "all have another epoch" others
wait_for "all are synchronized again" each synced
for i in $children; do
	is $i 'p["cluster"]["master"]' "$(of m 'p["node"]')" ||
		fail "$i has another master"
done
check
ok "a new timeline is a new epoch for all"

! has_collectives || steadily all_call || fail "$why"
end_nodes $all
ok "and a collective, as if nothing had been"
