#!/bin/bash
# SPDX-License-Identifier: MIT
# Interoperability: chronyd and ntpsec's ntpd as servers of tsctraced, chronyd as its
# client, with AES128 keys and without, in network namespaces. No daemon changes this
# machine's clock.
#
#   chrony (server) -- 10.78.1.0/24 --+
#   ntpd (server) ---- 10.78.2.0/24 --+-- ours -- 10.78.3.0/24 -- client (chronyd)
. "$(dirname "$0")/sync.sh"
for i in chrony ntpsec; do
	got=0
	path=$("$here/ntp.sh" $i) || got=$?
	[ $got -ne 3 ] || skip "package $i is not available"
	[ $got -eq 0 ] || { echo "$i: download failed"; exit 1; }
	eval "$i=$path"
done
# True if source N of our daemon has kept at least COUNT exchanges.
kept() { above ours "p['sources'][$1]['kept']" $(($2 - 1)); }	# N COUNT

net chrony ntpd ours client
mkdir "$work/wrong"
key=000102030405060708090a0b0c0d0e0f
echo "7 AES128 HEX:$key" >"$work/keys"
echo "7 AES128 HEX:f${key#?}" >"$work/badkeys"
echo "7 AES-128 $key" >"$work/ntpkeys"
cat >"$work/ours/conf" <<END
keyfile $work/keys
ntp 10.78.1.1 key 7 xleave minpoll -2 maxpoll -1
ntp 10.78.2.1 key 7 minpoll -2 maxpoll -1
serve
allow 10.78.3.0/24
stratum 10
END
chrony_conf() {	# DIR KEYFILE
	cat <<-END
	pidfile $work/$1/pid
	bindcmdaddress /
	cmdport 0
	user root
	keyfile $2
	END
}
{ chrony_conf chrony "$work/keys"; echo "local stratum 8"; echo "allow"; } \
	>"$work/chrony/conf"
cat >"$work/ntpd/conf" <<END
driftfile $work/ntpd/drift
keys $work/ntpkeys
trustedkey 7
disable kernel
tos orphan 5 orphanwait 1
restrict default
END
{
	chrony_conf client "$work/keys"
	echo "server 10.78.3.1 key 7 minpoll -2 maxpoll -2 xleave"
	echo "logdir $work/client"
	echo "log measurements"
} >"$work/client/conf"
{
	chrony_conf wrong "$work/badkeys"
	echo "server 10.78.3.1 key 7 iburst maxsamples 1"
} >"$work/wrong/conf"
{
	chrony_conf wrong "$work/keys"
	echo "server 10.78.3.1 iburst maxsamples 1"
} >"$work/wrong/plain"

join chrony 10.78.1.1/24 ours 10.78.1.2/24
join ntpd 10.78.2.1/24 ours 10.78.2.2/24
join ours 10.78.3.1/24 client 10.78.3.2/24
in_net chrony setpriv --bounding-set=-sys_time "$chrony" -x -d \
	-f "$work/chrony/conf" >"$work/chrony/log" 2>&1
in_net ntpd setpriv --bounding-set=-sys_time "$ntpsec" -n -d -g \
	-c "$work/ntpd/conf" >"$work/ntpd/log" 2>&1
start ours
in_net client setpriv --bounding-set=-sys_time "$chrony" -x -d \
	-f "$work/client/conf" >"$work/client/log" 2>&1

# --- chronyd and ntpd as servers -----------------------------------------------
wait_for "chronyd's time is taken" kept 0 8
wait_for "ntpd's time is taken" kept 1 8
in_dir ours "$ctl" peers
# chronyd and ntpd serve this machine's clock: the cluster time must equal that clock.
"$helpers/synccheck" 1 - "$work/ours" || fail "off by more than the bound"

# --- chronyd as the client -------------------------------------------------------
wait_for "chronyd takes our time" logged client 'Selected source 10.78.3.1'
samples() { [ "$(grep -c '10.78.3.1' "$work/client/measurements.log")" -ge 12 ]; }
wait_for "some samples" samples
# Columns 12 and 13 of chronyd's measurements.log are the offset and the delay, in seconds. The
# true offset is zero, because client and server use the clock of this machine: an offset is at
# most half of its delay, which is long on a busy machine.
awk '/10\.78\.3\.1/ { n++; off = ($12 < 0 ? -$12 : $12) * 1e9; most = off > most ? off : most
	bad += off > 20e3 + $13 * 5e8 }
	END { printf "chronyd, of us: %d samples, off by %.0f ns at most, %d by more than they may\n",
		n, most, bad; exit bad > 0 }' "$work/client/measurements.log" ||
	fail "$(tail -n 5 "$work/client/measurements.log")"
# A measurement may take long on a busy machine, and its error is up to half of that.
is_right() {
	within "${net_id}client" setpriv --bounding-set=-sys_time timeout 300 \
		"$chrony" -Q -f "$work/wrong/plain" >"$work/out" 2>&1 ||
		fail "without a key: $(cat "$work/out")"
	grep -q 'System clock wrong by -\?0.000[0-9]* seconds (ignored)' "$work/out"
}
wait_for "chronyd says that the clock is right" is_right

# --- wrong keys --------------------------------------------------------------------
is_refused() {
	! within "${net_id}client" setpriv --bounding-set=-sys_time timeout 4 \
		"$chrony" -Q -f "$work/wrong/conf" >"$work/out" 2>&1 ||
		fail "a wrong key is accepted: $(cat "$work/out")"
	logged ours 'request from 10.78.3.2 with key 7: wrong MAC'
}
wait_for "the wrong key is named" is_refused
sed -i "s|^keyfile.*|keyfile $work/badkeys|; /10.78.2/d" "$work/ours/conf"
reload ours
wait_for "our wrong key is named" logged ours \
	'10.78.1.1: does not answer.*same key 7'
end_by TERM "$ours" "it"
