#!/bin/bash
# SPDX-License-Identifier: MIT
# Daemons in network namespaces synchronize to one master:
#
#   alpha (master) -- 10.77.1.0/24 -- beta -- fd77::/64 -- gamma
#
# Namespaces of one machine share its counter, so the true offset is zero.
# test-timeout: 400
. "$(dirname "$0")/sync.sh"
check() { "$helpers/synccheck" "$@" || fail "cluster times differ by more than their bounds"; }
status='p["cluster"]["status"]' source='p["sources"][0]'

net alpha beta gamma
key=000102030405060708090a0b0c0d0e0f
echo "11 AES128 HEX:$key" >"$work/keys"
printf '11 AES128 HEX:%s\n12 AES128 HEX:f%s\n' $key ${key#?} >"$work/badkeys"
cat >"$work/alpha/conf" <<END
name alpha
keyfile $work/keys
child beta 10.77.1.2 key 11
END
beta_conf() {	# KEYFILE
	cat >"$work/beta/conf" <<-END
	name beta
	keyfile $1
	master 10.77.1.1 key 11 minpoll -3 maxpoll -2
	child gamma fd77::3
	allow fd77::/64
	allow 10.77.2.0/24
	sync-max-duration 60
	END
}
beta_conf "$work/keys"
echo "master fd77::2 minpoll -3 maxpoll -2" >"$work/gamma/conf"

# --- the configuration is checked first ----------------------------------------
for i in alpha beta gamma; do
	"$daemon" --check-config --config "$work/$i/conf" >"$work/out" ||
		fail "$i: $(cat "$work/out")"
	[ "$(cat "$work/out")" = ok ] || fail "$(cat "$work/out")"
done
printf 'serve\nallow 10.0.0.0/8\nmster 1.2.3.4\n' >"$work/broken"
! "$daemon" --check-config --config "$work/broken" >"$work/out" ||
	fail "--check-config accepts an invalid file"
shows "^$work/broken:3: 'mster': unknown directive"
! "$daemon" --no-module --run-dir "$work/none" --config "$work/broken" \
	2>"$work/out" || fail "the daemon starts with an invalid file"
shows ":3: 'mster'"

# --- two hops ------------------------------------------------------------------
join alpha 10.77.1.1/24 beta 10.77.1.2/24
join beta fd77::2/64 gamma fd77::3/64
start alpha a1
start beta b2
start gamma c3
wait_for "gamma is synchronized" synced gamma
# The daemon says why the default fit is what it is: in a word, and in the log.
reason() { is "$1" "p['sources'][0]['fit_reason'] in ('edge', 'noise', 'both', 'few', 'contradiction')" True; }
reason gamma || fail "gamma's fit has no reason: $(of gamma "p['sources'][0]")"
is gamma "p['sources'][0]['fit'] in ('hull', 'regression')" True ||
	fail "gamma's fit is $(of gamma "p['sources'][0]['fit']")"
in_dir gamma "$ctl" peers >"$work/out"
grep -qE 'KEPT/DROPPED +FIT ' "$work/out" || fail "no column FIT: $(cat "$work/out")"
grep -qE ' [0-9]+/[0-9]+ +(edge|noise|both|few|contradiction) ' "$work/out" ||
	fail "no reason: $(cat "$work/out")"
wait_for "gamma logs its fit" logged gamma 'fit by \(hull\|regression\) ('
wait_for "alpha is synchronized" synced alpha
master=$(of alpha 'p["node"]')
is gamma 'p["cluster"]["master"]' "$master" || fail "gamma has another master"
is gamma "$source"'["depth"]' 1 || fail "beta reports itself as the master"
wait_for "some exchanges" above gamma "$source"'["kept"]' 8
check 1 "$work/alpha" "$work/beta" "$work/gamma"
is beta "$source"'["auth"]' AES128 || fail "no key is used"
is alpha 'p["members"][0]["name"]' beta || fail "beta is not a member of alpha"

# --- a changed network --------------------------------------------------------------
changes() { grep -c 'network changed: polling all' "$work/gamma/log"; }
before=$(changes)
within "${net_id}gamma" ip addr add 10.77.3.1/24 dev lo
changed() { [ "$(changes)" -gt "$before" ]; }
wait_for "gamma sees that the network changed" changed

# --- sessions ------------------------------------------------------------------
kept=$(of beta "$source"'["kept"]')
meets_beta() { in_dir alpha timeout 300 "$ctl" sync >"$work/out"; }
steadily meets_beta || fail "no session: $(cat "$work/out")"
shows "beta .* 10.77.1.2"
wait_for "beta took part" above beta "$source"'["kept"]' $((kept + 80))
# On a machine that stalls, the answers of a session may come too late.
meets_gamma() {
	local kept
	kept=$(of gamma "$source"'["kept"]')
	in_dir gamma timeout 300 "$ctl" sync --json >"$work/out" || return
	above gamma "$source"'["kept"]' $((kept + 80))
}
steadily meets_gamma || fail "the session of gamma took too few exchanges: $(cat "$work/out")"
check 1 "$work/alpha" "$work/beta" "$work/gamma"

# --- a session continues with the remaining children after a reload -----------------
reread() {	# NR: succeeds if alpha has reloaded its configuration at least NR times
	[ "$(grep -c 'SIGHUP: .*: reloaded' "$work/alpha/log")" -ge "$1" ]
}
cp "$work/alpha/conf" "$work/alpha.conf"
# It lasts until beta went on after the reload, and that was seen.
printf 'sync-max-messages 100000\nsync-max-duration 30\n' >>"$work/alpha/conf"
reload alpha
wait_for "alpha has read it" reread 1
in_dir alpha timeout 300 "$ctl" sync >"$work/out" & track b
taken='p["sources"][0]["answers"]["taken"]'
answers=$(of beta "$taken")
wait_for "beta takes part" above beta "$taken" $((answers + 50))
session=$(of alpha 'p["session"]["last"]')
echo 'child delta 10.77.9.9' >>"$work/alpha/conf"
reload alpha
wait_for "alpha has read it again" reread 2
answers=$(of beta "$taken")
wait_for "beta goes on" above beta "$taken" $((answers + 50))
is alpha '(p["session"]["busy"], p["session"]["last"])' "(True, $session)" ||
	fail "the session ended early: $(of alpha 'p["session"]')"
wait $b || fail "the session failed: $(cat "$work/out")"
cp "$work/alpha.conf" "$work/alpha/conf"
reload alpha
wait_for "alpha has read it once more" reread 3

if has_collectives; then
	# --- a collective reports missing nodes, and is released when all have called ---
	timesync() { in_dir "$2" "$helpers/timesync" "$1" || true; }
	told() {	# NAME WORDS
		timesync 1000 "$1" >"$work/out"
		grep -q "^ETIMEDOUT: not all nodes have called tsct_timesync(): $2$" "$work/out"
	}
	steadily told alpha "beta, gamma (below beta) are missing" || fail "alone: $(cat "$work/out")"
	steadily told beta "alpha, gamma (below beta) are missing" ||
		fail "beta: $(cat "$work/out")"
	both_told() {
		local i b
		timesync 2500 beta >"$work/out" & track b
		timesync 2500 gamma >"$work/out.gamma"
		wait $b || fail "timesync"
		for i in "" .gamma; do
			grep -q "^ETIMEDOUT: not all nodes have called tsct_timesync(): alpha is missing$" \
				"$work/out$i" || return
		done
	}
	steadily both_told || fail "beta and gamma: $(cat "$work/out" "$work/out.gamma")"
	wait_for "alpha names itself" logged alpha 'collective call [0-9]* waits for alpha'
	sleep 1		# waits until every daemon knows that no call is waiting
	timesync 30000 alpha >"$work/out.alpha" & track a
	timesync 30000 beta >"$work/out.beta" & track b
	sleep 1
	! grep -q ^done "$work/out.alpha" || fail "released without gamma"
	timesync 30000 gamma >"$work/out.gamma" || fail "timesync of gamma"
	wait $a $b || fail "timesync"
	all_done() {
		for i in alpha beta gamma; do
			grep -q ^done$ "$work/out.$i" || fail "$i: $(cat "$work/out.$i")"
		done
	}
	all_done

	# --- collectives while the daemon restarts and other clients fill its table -------
	: >"$work/out.beta"
	timesync 30000 beta >"$work/out.beta" & track b
	timesync 30000 gamma >"$work/out.gamma" & track c
	until_in "$work/out.beta" '^called at'
	python3 - "$work/gamma/control.sock" <<-'END' & track flood
		import socket, sys, time
		full = []
		while True:
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    full = full[-40:] + [s]
		    time.sleep(.001)
	END
	sleep 0.5
	slay beta
	sleep 0.2
	start beta b2
	sleep 0.5
	! grep -q ^done "$work/out.beta" || fail "beta did not wait: $(cat "$work/out.beta")"
	timesync 30000 alpha >"$work/out.alpha"
	wait $b $c || fail "timesync"
	kill "$flood"
	all_done
	cut_off() {
		local a
		synced alpha || start alpha a1
		wait_for "alpha is there" synced alpha
		timesync 2000 alpha >"$work/out" & track a
		sleep 0.5
		slay alpha
		wait $a
		grep -q "^ETIMEDOUT: $work/alpha/control.sock: no daemon; start" "$work/out"
	}
	steadily cut_off || fail "without a daemon: $(cat "$work/out")"
	timesync 5000 alpha >"$work/out"
	shows "^ENOENT: $work/alpha/control.sock: no daemon; start"
	start alpha a1
	wait_for "alpha is back" synced alpha
	wait_for "gamma is synchronized again" synced gamma
fi

# --- SIGHUP: an invalid file, another key, the right one ------------------------
printf 'master nowhere\n' >"$work/beta/conf"
reload beta
wait_for "it is refused" logged beta 'previous configuration stays'
logged beta "conf:1: master: 'nowhere': give an IPv4 or IPv6" ||
	fail "the error is not in the log"
wait_for "beta is synchronized, in spite of an invalid file" synced beta
beta_conf "$work/badkeys"
sed -i 's/key 11/key 12/' "$work/beta/conf"
reload beta
wait_for "alpha names the key" logged alpha \
	'request from 10.77.1.2 with key 12: unknown key'
wait_for "beta names it" logged beta '10.77.1.1: does not answer.*key 12'
beta_conf "$work/keys"
reload beta
wait_for "beta is synchronized again" synced beta

# --- the master is killed and restarted --------------------------------------------
epoch=$(of beta 'p["cluster"]["epoch"]')
slay alpha
wait_for "beta is on its own" is beta "$status" holdover
! in_dir beta timeout 300 "$ctl" sync >"$work/out" 2>&1 || fail "a session without a master succeeds"
shows '10.77.1.1: no answer'
start alpha a1
wait_for "beta is synchronized again" synced beta
logged alpha 'timeline [0-9]* continues' || fail "alpha does not continue its timeline"
is beta 'p["cluster"]["epoch"]' "$epoch" || fail "the epoch has changed"
wait_for "gamma is synchronized again" synced gamma
check 1 "$work/alpha" "$work/beta" "$work/gamma"

# --- roles change: gamma as a master, without a network, as a child ---------------------
cp "$work/gamma/conf" "$work/child"
printf 'serve\nallow ::/0\n' >"$work/gamma/conf"
reload gamma
wait_for "gamma is a master" is gamma 'p["cluster"]["master"] == p["node"]' True
: >"$work/gamma/conf"
reload gamma
alone() { ! in_dir gamma "$ctl" peers >"$work/out" 2>&1 && grep -q 'no network' "$work/out"; }
wait_for "gamma has no network" alone
shows 'no network is configured: see tsctraced.conf'
cp "$work/child" "$work/gamma/conf"
reload gamma
wait_for "gamma follows again" synced gamma
is gamma 'p["cluster"]["master"]' "$master" || fail "gamma has another master"

# --- a child's own address changes ------------------------------------------------
on() { within "${net_id}$1" ip addr "$2" "$3" dev "$4"; }
taken() { of gamma "$source"'["answers"]["taken"]'; }
more() { above gamma "$source"'["answers"]["taken"]' $((answers + 5)); }
on beta add 10.77.2.2/24 vgamma
on gamma add 10.77.2.3/24 vbeta
echo "master 10.77.2.2 minpoll -3 maxpoll -2" >"$work/gamma/conf"
reload gamma
answers=0
wait_for "gamma polls by IPv4" more
# While beta is stopped, gamma's requests stay unanswered, and gamma's address changes.
suspend "$beta"
sleep 0.1
on gamma del 10.77.2.3/24 vbeta
kill -CONT "$beta"
sleep 1
on gamma add 10.77.2.4/24 vbeta
answers=$(taken)
wait_for "gamma polls from its new address" more

# --- requests for sessions do not flood NTP servers ---------------------------------
echo "ntp fd77::2" >"$work/gamma/conf"
reload gamma
asks_ntp() { is gamma "$source"'["type"]' ntp; }
wait_for "gamma polls an NTP server" asks_ntp
python3 - "$work/gamma/control.sock" <<-'END'
	import socket, sys, time
	for _ in range(100):
	    s = socket.socket(socket.AF_UNIX)
	    s.connect(sys.argv[1])
	    s.send(b"sync\n")
	    s.recv(4096)
	    time.sleep(.01)
END
sent=$(of gamma "$source"'["sent"]')
[ "$sent" -le 6 ] || fail "$sent requests to an NTP server"

end_nodes alpha beta gamma
