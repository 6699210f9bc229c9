#!/bin/bash
# SPDX-License-Identifier: MIT
# tsctraced without a module: it publishes a clock within its error bound, rejects a
# second instance, begins an epoch after a disruption, and stops cleanly; a successor
# can use the files that it leaves behind.
. "$(dirname "$0")/lib.sh"

export TSCTRACE_RUN_DIR=$work/run
file=$TSCTRACE_RUN_DIR/clock sock=$TSCTRACE_RUN_DIR/tsctraced.sock

# --no-module: do not disturb the clock of a machine that has the module loaded.
start() {
	"$daemon" --no-module --interval-ms 200 "$@" 2>>"$work/log" & track pid
}
stop() {	# SIGNAL WANTED
	kill "-$1" "$pid"
	exits "$2" wait "$pid"
}
# Reads the clock into $work/json.
look() { "$ctl" clock --json >"$work/json" || fail "trace-ctl clock failed"; }
# Prints the value of a key in $work/json
seen() { sed -n "s/.*\"$1\": *\"\\{0,1\\}\\([^\",]*\\).*/\\1/p" "$work/json"; }
key() { look; seen "$1"; }
is() { [ "$(key "$1")" = "$2" ]; }
logged() { grep -q "$1" "$work/log"; }
is_above() { [ "$(key "$1")" -gt "$2" ]; }
# Size of the daemon's clock file, bytes: 20480, and 16 for each possible CPU, rounded
# up to whole pages of 4096 bytes
cpus=$(sed 's/.*[-,]//' /sys/devices/system/cpu/possible)
size=$(((20480 + (cpus + 1) * 16 + 4095) / 4096 * 4096))
seed=$((${SEED:-$(date +%s)}))
echo "seed $seed"
junk() {	# BYTES: prints as many random bytes, the same for the same seed
	# shellcheck disable=SC2059
	printf "$(awk -v seed=$((seed + $1)) -v n="$1" 'BEGIN { srand(seed)
		while (n--) printf "\\%03o", int(rand() * 256) }')"
}
refused() {	# STATUS PATTERN COMMAND...
	exits "$1" timeout 300 "${@:3}" 2>"$work/err"
	says "$2"
}

[ ! -e /dev/tsctrace ] || skip "the module is loaded, and its clock comes before the daemon's"

# --- it starts, and the clock is right ---------------------------------------
start -v
wait_for "the clock file is there" test -s "$file"
wait_for "the socket is there" test -S "$sock"
wait_for "the daemon's clock is published" is origin daemon
wait_for "synchronized" is status synchronized
logged 'clock source: ' || fail "no source in the log"
wait_for "the log has the rate" logged 'synchronized: [0-9]* Hz +- [0-9.]* ppm'
before=$(date +%s%N)
look
after=$(date +%s%N) ns=$(seen time_ns) error=$(seen error_ns)
[ $((ns + error)) -ge "$before" ] && [ $((ns - error)) -le "$after" ] ||
	fail "it is not $ns +- $error, but between $before and $after"
[ "$error" -lt 1000000 ] || fail "bound of $error ns"
bound=$error
[ "$(stat -c %a "$file")" = 644 ] || fail "mode $(stat -c %a "$file")"
[ "$(stat -c %s "$file")" = $size ] || fail "size $(stat -c %s "$file")"

# --- a second instance is rejected -------------------------------------------
refused 1 "pid $pid" "$daemon" --no-module
kill -0 "$pid" || fail "the second instance ended the first"

# --- signals -----------------------------------------------------------------
kill -HUP "$pid"
wait_for "SIGHUP is logged" logged 'nothing to reload'
suspend "$pid"
sleep 1
kill -CONT "$pid"
rm "$file"
wait_for "the removed file is back" test -s "$file"
[ "$(stat -c %a "$work/run/tsctraced.pid")" = 600 ] ||
	fail "others may lock the daemon out"
wait_for "synchronized" is status synchronized
epoch=$(key epoch)
inode=$(stat -c %i "$file")
stop TERM 0
[ ! -e "$sock" ] || fail "the socket is left behind"
# Params begin at most 0.9 s after their publication; times before that have the earlier status.
sleep 1
is status holdover || fail "stopped, but $(key status)"
is origin daemon || fail "stopped, and the clock is from $(key origin)"

# --- successors --------------------------------------------------------------
start
wait_for "synchronized" is status synchronized
[ "$(stat -c %i "$file")" = "$inode" ] || fail "readers lost the old file"
is epoch "$epoch" || fail "epoch $(key epoch) after $epoch, without a step"
stop KILL 137
is origin daemon || fail "killed, and the clock is from $(key origin)"
wait_for "the clock of a killed daemon is in holdover" is status holdover
[ -S "$sock" ] || fail "a killed daemon removed its socket?"
# The clock file as after a kill during an update: seq is odd, copy 0 is half written.
printf '\001' | dd of="$file" bs=1 seek=32 conv=notrunc status=none
junk 100 | dd of="$file" bs=1 seek=4196 conv=notrunc status=none
start
wait_for "synchronized" is status synchronized
[ "$(stat -c %i "$file")" = "$inode" ] || fail "a repairable file was replaced"
is epoch "$epoch" || fail "epoch $(key epoch) after a repair"
stop INT 0
# A clock file that cannot be repaired, or has another layout, is replaced by a new
# file. The old file is not truncated, as readers may have mapped it.
for bytes in 5000 4096 0 $size; do
	junk $bytes >"$file"
	inode=$(stat -c %i "$file")
	# Keeps the old clock file open, so that the new file cannot get the old file's
	# inode number.
	exec 3<"$file"
	start
	wait_for "a new clock file" is status synchronized
	[ "$(stat -c %s "$file")" = $size ] || fail "size $(stat -c %s "$file")"
	[ "$(stat -c %i "$file")" != "$inode" ] || fail "the damaged file was written to"
	[ "$(stat -L -c %s /proc/self/fd/3)" = $bytes ] || fail "it was truncated"
	exec 3<&-
	stop TERM 0
done

# --- drift file --------------------------------------------------------------
rate=$work/state/rate
: >"$work/log"
start --state-dir "$work/state"
wait_for "synchronized" is status synchronized
wait_for "the rate is saved" test -s "$rate"
stop TERM 0
grep -q "^boot $(cat /proc/sys/kernel/random/boot_id)$" "$rate" || fail "boot"
[ "$(tail -n 1 "$rate")" = end ] || fail "$(cat "$rate")"
error=$(seen rate_error_ppb)
rm "$file"		# deletes the clock file, too, which also has the rate
start --state-dir "$work/state"
wait_for "it uses the rate" logged 'using the saved rate, error bound 0'
wait_for "a clock" is origin daemon
# The rate of CLOCK_MONOTONIC_RAW, in ns, is exact.
is source tsc && least=0.001 || least=0
awk -v e="$(seen rate_error_ppb)" -v least=$least 'BEGIN { exit !(e >= least && e < 500) }' ||
	fail "rate error $(seen rate_error_ppb) ppb, was $error ppb"
stop KILL 137
for what in 's/^boot .*/boot 1/:before the last boot' \
		's/^machine .*/machine 1/:another machine' \
		's/^cpu .*/cpu 1/:another CPU model' \
		's/^rate-mult .*/rate-mult 1/:out of range for a counter' \
		'$d:malformed or truncated'; do
	: >"$work/log"
	cp "$rate" "$work/rate"
	sed -i "${what%:*}" "$rate"
	rm -f "$file"
	start --state-dir "$work/state"
	wait_for "the unused rate is logged" logged "saved rate not used: .*${what#*:}"
	wait_for "synchronized" is status synchronized
	stop KILL 137
	cp "$work/rate" "$rate"
done
: >"$work/log"
rm -f "$file"	# The killed daemon's clock is synchronized for a moment yet.
start --state-dir "$work/log/none"	# log is a file: no directory can be made
wait_for "synchronized" is status synchronized
wait_for "it logs that" logged 'will not be saved over restarts'
stop TERM 0

# --- disruptions -------------------------------------------------------------
# A hypervisor's vmclock page: magic, size, version, seq, disruption marker. The tests
# in virtual machines (tests/guest) check other disruptions.
{
	printf 'VCLK\000\020\000\000\001\000\001\000\002\000\000\000\007'
	head -c 4079 /dev/zero
} >"$work/vmclock"
: >"$work/log"
start --vmclock "$work/vmclock"
wait_for "synchronized" is status synchronized
logged 'the hypervisor reports migrations' || fail "vmclock is not logged"
epoch=$(key epoch)
printf '\010' | dd of="$work/vmclock" bs=1 seek=16 conv=notrunc status=none
began=$(date +%s%N)
wait_for "the migration begins an epoch" is_above epoch "$epoch"
noticed=$((($(date +%s%N) - began) / 1000000))
wait_for "synchronized after the migration" is status synchronized
recovered=$((($(date +%s%N) - began) / 1000000))
[ $noticed -lt $((10000 + $(cpu_wait "$pid"))) ] || fail "noticed after $noticed ms"
[ $recovered -lt $((20000 + $(cpu_wait "$pid"))) ] || fail "synchronized after $recovered ms"
is cause migration || fail "cause $(key cause)"
logged 'migrated or restored: disruption marker 8, .*; epoch .* begins (migration)' ||
	fail "the migration is not logged"
stop TERM 0
: >"$work/log"
start --vmclock "$work/none"
wait_for "synchronized" is status synchronized
logged "$work/none: not a vmclock page; continuing without vmclock" ||
	fail "a missing vmclock page is not logged"
# If the run directory is removed, the daemon goes on and logs this once.
until rm -rf "$work/run" && [ ! -e "$work/run" ]; do :; done
wait_for "the loss is logged" logged 'clock file: No such file or directory; programs'
sleep 1
[ "$(grep -c 'clock file: No such file' "$work/log")" = 1 ] ||
	fail "the loss is logged more than once"
stop TERM 0

# --- bad input ---------------------------------------------------------------
refused 2 'interval-ms' "$daemon" --interval-ms 99
refused 2 'interval-ms' "$daemon" --interval-ms 1001
refused 2 'interval-ms' "$daemon" --interval-ms 1s
refused 2 'run-dir' "$daemon" --run-dir=
refused 2 'state-dir' "$daemon" --state-dir=
refused 2 'state-dir: too long' "$daemon" --state-dir "$(printf '%05000d' 0)"
grep -q '^tsctraced [0-9]' < <("$daemon" --version) || fail "--version"
grep -q -- '--run-dir' < <("$daemon" --help) || fail "--help"
refused 1 "$work/none/deep: .*; create the parent directory" \
	"$daemon" --no-module --run-dir "$work/none/deep"
mkdir -p "$work/taken/control.sock"
refused 1 "$work/taken/control.sock: .*; remove this file, which is not a socket" \
	"$daemon" --no-module --run-dir "$work/taken"
refused 1 "$work/log: Not a directory; set --run-dir to a directory" \
	"$daemon" --no-module --run-dir "$work/log"
# A run directory whose path is of the largest allowed length, 92 characters, is
# accepted. A path of one character more is rejected.
long=$(printf '%0200d' 0)
long=$work/${long:0:$((92 - ${#work} - 1))}
refused 1 "${long}x: too long .* up to 92 char" "$daemon" --no-module \
	--run-dir "${long}x"
[ ! -e "${long}x" ] || fail "a directory was made for a path that is too long"
start --run-dir "$long"
wait_for "the socket with the longest path is there" test -S \
	"$long/tsctraced.sock"
stop TERM 0
mkdir -m 777 "$work/open"
chmod 777 "$work/open"
refused 1 'other users can write to this directory (mode 777); run .chmod go-w' "$daemon" --no-module \
	--run-dir "$work/open"
if [ "$(id -u)" = 0 ]; then
	mkdir -m 755 "$work/root"
	chmod 755 "$work"
	# Runs a copy of tsctraced as user 65534, who may have no access to the build
	# directory.
	cp "$daemon" "$work/tsctraced"
	refused 1 'run tsctraced as root' "${nobody[@]}" "$work/tsctraced" --no-module \
		--run-dir "$work/root"

	# The run directory of a package belongs to the user tsctrace: root's daemon starts
	# there, and after it that user's. A directory of any other user is refused.
	cp /etc/passwd "$work/passwd"
	echo 'tsctrace:x:64321:64321::/:/bin/false' >>"$work/passwd"
	mkdir -m 755 "$work/package" "$work/other"
	chown 64321 "$work/package"
	chown 64322 "$work/other"
	# Runs a command where the user tsctrace exists.
	# shellcheck disable=SC2016
	with_user=(unshare -m sh -c 'mount --bind "$0" /etc/passwd && exec "$@"' "$work/passwd")
	starts() {	# COMMAND...
		rm -f "$work/package/control.sock"
		"$@" --no-module --no-network --run-dir "$work/package" 2>"$work/err" & track pid
		wait_for "the daemon is up in the package's directory" has_started
		stop TERM 0
	}
	has_started() {
		! has_ended "$pid" || fail "it has ended: $(cat "$work/err")"
		[ -S "$work/package/control.sock" ]
	}
	starts "${with_user[@]}" "$daemon"
	starts "${with_user[@]}" setpriv --reuid 64321 --regid 64321 --clear-groups "$work/tsctraced"
	refused 1 'other: owned by another user (uid 64322)' "${with_user[@]}" "$daemon" --no-module \
		--run-dir "$work/other"
fi
echo "migration: new epoch after $noticed ms, synchronized after $recovered ms"
echo "$ns +- $bound in [$before, $after]"
