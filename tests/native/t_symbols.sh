#!/bin/bash
# SPDX-License-Identifier: MIT
# Names of functions in stacks: those of compiled code, also in nested pid namespaces, and
# very many; and files that are hostile to the program that reads their symbols
# test-wing: stacks
. "$(dirname "$0")/stacks.sh"
need objcopy pgrep strip unshare xz

# --- compiled code -----------------------------------------------------------------

# The program waits after each function until the calls are in the recording, with its name.
compiled() {	# DIR LINES COMMAND...
	local i
	mkfifo "$1.steps"
	"$ctl" record --stack=sys_getppid -e syscalls -o "$1" -- "${@:3}" "$2" \
		<"$1.steps" >out 2>err & track recorder
	exec {steps}>"$1.steps"
	for i in 0 1 2 3; do
		wait_for "$1: ten calls of number$i have a name" is_named_in "$1" "$i"
		echo >&"$steps"
	done
	exec {steps}>&-
	exits 0 wait "$recorder"
}
is_named_in() {	# DIR NUMBER
	# Of a recording that is not whole, the exit status is 3.
	awk -v name=";main;Compiled::number$2 " \
		'index($0, name) { n += $NF } END { exit n != 10 }' \
		< <("$ctl" export -q -f folded -o - --event sys_getppid/begin "$1" 2>/dev/null)
}
begin_part() { cd "$work"; }
few() { compiled recorded 10 "$helpers/traced/jit"; }
huge() { compiled recorded 100000 "$helpers/traced/jit"; }
# The first process of a namespace has the file /tmp/perf-1.map: each has a /tmp of its own.
own_tmp() {	# COMMAND...
	cp "$helpers/traced/jit" .
	# shellcheck disable=SC2016 # for the inner shell
	compiled recorded 10 unshare -m sh -c 'mount --bind "$1" /tmp && shift && exec "$@"' \
		sh "$work" "$@"
}
inner() { own_tmp unshare -pf /tmp/jit; }
# shellcheck disable=SC2016 # for the inner shell
nested() { own_tmp unshare -pf sh -c 'unshare -pf "$@"; exit' sh /tmp/jit; }
parts=(few huge)
! unshare -mpf true 2>/dev/null || parts+=(inner nested)
together "${parts[@]}"

# As many functions beside each other: readers take seconds.
run 0 record --stack=sys_getppid -e syscalls -o wide -- "$helpers/traced/jit" 0
(
	ulimit -t 20
	"$ctl" report -q -o wide.html wide
) || fail "report of many functions"
grep -q '<title>main: 100&#8239;000 events' wide.html || fail "flame graph of many functions"
expect wide sys_getppid/begin ';main;Compiled::number[0-9]* ' 100000
[ "$(grep -c 'Compiled::number.* 1$' folded)" = 100000 ] || fail "different functions"

# --- hostile files -----------------------------------------------------------------

# Compressed symbols that would take 1 GiB
head -c 1G /dev/zero | xz -0 >zeros.xz
cp chain bomb
strip bomb
objcopy --add-section .gnu_debugdata=zeros.xz bomb
cp bomb gone_bomb
run 0 record --stack -e syscalls -o bombed -- ./bomb 11
read_bomb() {
	python3 - "$ctl" bombed <<'END' || fail "memory of a reader"
import resource, subprocess, sys
text = subprocess.run([sys.argv[1], "export", "-q", "-f", "folded", "-o", "-", "--event",
                       "sys_getppid/begin", sys.argv[2]], check=True, capture_output=True).stdout
assert b";[bomb];[bomb];" in text, text
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak < 700 << 10, "%u KiB" % peak
END
}
read_bomb
truncate -s 100G bomb		# A hole gives no room for more.
read_bomb
./gone_bomb -1 & track pid
wait_for "gone_bomb runs" is_named "$pid" gone_bomb
rm gone_bomb
record_process gone_bombed "$pid"
[ "$(sum gone_bombed sys_getppid/begin ';\[gone_bomb\];\[gone_bomb\];')" -gt 20 ] ||
	fail "a bomb that was deleted"

# Symbols that cannot be read: a warning names the file, and the rest is shown.
run 0 record --stack -e syscalls -o cut -- ./chain 11
cp chain chain.kept
truncate -s 9000 chain
expect cut sys_getppid/begin '\[chain\];\[chain\]' 11
mv chain.kept chain

# --- processes that read symbols ------------------------------------------------------

run 0 record --stack -e syscalls -o known -- ./chain 500
# They have no rights, and nothing is left of them.
mkfifo pipe
"$ctl" dump known >pipe 2>err & track pid
exec 9<pipe
has_readers() {
	local reader
	readers=$(pgrep -P $pid) || return
	for reader in $readers; do
		grep -qs '^Seccomp:.*2$' /proc/"$reader"/status || return
	done
}
wait_for "processes read symbols" has_readers
for reader in $readers; do
	tr '\t\n' '  ' </proc/"$reader"/status >status
	[ "$(id -u)" != 0 ] || grep -q 'Uid: 65534 65534 65534 65534 .*Groups: *NStgid' status ||
		fail "rights of a process: $(cat status)"
	grep -q 'CapPrm: 0* CapEff: 0* .*NoNewPrivs: 1 Seccomp: 2 ' status ||
		fail "rights of a process: $(cat status)"
	[ "$(find /proc/"$reader"/fd -type l | wc -l)" -le 5 ] || fail "its files"
done
exec 9<&-
wait $pid || true
for reader in $readers; do
	wait_for "no process is left" not grep -qs '^State:.[^Z]' /proc/"$reader"/status
done
