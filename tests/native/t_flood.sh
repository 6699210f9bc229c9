#!/bin/bash
# SPDX-License-Identifier: MIT
# A flood of requests from unknown clients does not disturb a child:
#
#   master -- 10.77.1.0/24 -- child
#   crowd -- 10.77.2.0/24 -- master
#
# The child has a key. It stays synchronized and loses at most two requests.
. "$(dirname "$0")/sync.sh"

source='p["sources"][0]'
net master child crowd
join master 10.77.1.1/24 child 10.77.1.2/24
join crowd 10.77.2.9/24 master 10.77.2.1/24
# A route for the answers to the random source addresses
within "${net_id}master" ip route add default via 10.77.2.9
(umask 077; echo "11 AES128 HEX:000102030405060708090a0b0c0d0e0f" >"$work/keys")
printf '%s\n' "keyfile $work/keys" "allow all" "child child 10.77.1.2 key 11" \
	>"$work/master/conf"
printf '%s\n' "keyfile $work/keys" "master 10.77.1.1 key 11 minpoll -3 maxpoll -3" \
	>"$work/child/conf"
start master a1
start child b2
wait_for "the child is synchronized" synced child
wait_for "the child has kept more than 8 exchanges" above child "$source"'["kept"]' 8

rss() { awk '/^VmRSS/ { print $2 }' "/proc/$master/status"; }
# Prints "SENT UNANSWERED": the number of requests that node `child` has sent, and of
# requests without an answer. One query of the daemon returns both numbers.
requests() {
	of child "'%d %d' % (lambda s: (s['sent'], s['sent'] - s['answers']['taken']))(p['sources'][0])"
}
flood() { within "${net_id}crowd" "$helpers/strangers" 10.77.2.1 123 "$1" 0 11; }

# Makes the master allocate its tables before rss() reads the master's memory size.
flood 0.5 >"$work/out"
rss=$(rss)
read -r sent lost < <(requests)
flood 3.5 >"$work/flooded" & track flood
"$helpers/synccheck" 3 "$work/master" "$work/child" >"$work/checked" & track check
begin=$(date +%s%N)
in_dir master timeout 300 "$ctl" peers >"$work/out" ||
	fail "the control socket does not answer"
ms=$((($(date +%s%N) - begin) / 1000000))
# Stop the master ten times, each time until its socket's buffer overflows. Of a longer stop of
# a busy machine, and while one of both waits for a CPU, the child's requests, every 125 ms, are
# answered late.
waits() { echo $(($(cpu_wait "$master") + $(cpu_wait "$child"))); }
late=0 waited=$(waits)
for i in 1 2 3 4 5 6 7 8 9 10; do
	stopped=$(date +%s%N)
	kill -STOP "$master"
	sleep 0.1
	kill -CONT "$master"
	late=$((late + ($(date +%s%N) - stopped) / 115000000))
	sleep 0.05
done
wait $check || fail "the child's time is off: $(cat "$work/checked")"
asked_on() { above child "$source"'["sent"]' $((sent + 19)); }
wait_for "the child has sent 20 requests" asked_on
read -r sent_now lost_now < <(requests)
late=$((late + ($(waits) - waited) / 115))
sent=$((sent_now - sent)) lost=$((lost_now - lost)) rss=$(($(rss) - rss))
wait $flood || fail "no flood: $(cat "$work/flooded")"
echo "$(tail -n 1 "$work/flooded"); of the child's $sent requests $lost were lost;" \
	"peers after $ms ms; the master grew by $rss kB"
cat "$work/checked"
[ "$(awk 'END { print ($1 > 20000) }' "$work/flooded")" -eq 1 ] ||
	fail "no more than 20000 requests: no test"
[ "$ms" -lt $((10000 + $(cpu_wait "$master"))) ] || fail "the control socket answered after $ms ms"
[ "$sent" -ge 20 ] || fail "the child sent only $sent requests"
[ "$lost" -le $((late + 2)) ] || fail "$lost of $sent requests of the child were lost"
[ "$rss" -le 256 ] || fail "the master grew by $rss kB"
wait_for "the child is synchronized" synced child
end_nodes master child
