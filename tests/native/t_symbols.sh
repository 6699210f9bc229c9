#!/bin/bash
# SPDX-License-Identifier: MIT
# Names of functions in stacks: those of compiled code, also in nested pid namespaces, and
# very many; and files that are hostile to the program that reads their symbols
# shellcheck source=tests/native/stacks.sh
. "$(dirname "$0")/stacks.sh"

# --- compiled code -----------------------------------------------------------------

cat >jit.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUNCTIONS	100000

/*
 * Makes functions that call getppid(), and writes their names as perf reads them, behind
 * @lines lines about other places: 4 functions, which are called one after the other while
 * names are written; or many if there are no such lines.
 */
int main(int argc, char **argv)
{
	static const unsigned char code[16] = { 0x55, 0x48, 0x89, 0xe5,	/* push, mov %rsp,%rbp */
		0xb8, 110, 0, 0, 0, 0x0f, 0x05,		/* getppid() */
		0x5d, 0xc3 };				/* pop, ret */
	unsigned char *all = mmap(NULL, 64 * FUNCTIONS, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, k, lines = atoi(argv[1]);
	char path[64];
	FILE *map;

	(void)argc;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	for (i = 0; i < lines; i++)
		fprintf(map, "%x 10 other_%d\n", 0x1000 + 16 * i, i);
	for (i = 0; i < FUNCTIONS; i++)
		memcpy(all + 64 * i, code, sizeof(code));
	for (i = 0; !lines && i < FUNCTIONS; i++)
		fprintf(map, "%lx 10 Compiled::number%d\n", (long)(all + 64 * i), i);
	fflush(map);
	for (i = 0; !lines && i < FUNCTIONS; i++) {
		((void (*)(void))(all + 64 * i))();
		if (i % 1024 == 0)
			usleep(50000);
	}
	for (i = 0; lines && i < 4; i++) {
		fprintf(map, "%lx 10 Compiled::number%d\n", (long)(all + 64 * i), i);
		fflush(map);
		for (k = 0; k < 10; k++)
			((void (*)(void))(all + 64 * i))();
		usleep(i < 3 ? 700000 : 3000000);
	}
	unlink(path);
	return 0;
}
END
${CC:-cc} -O0 -D_GNU_SOURCE -fno-omit-frame-pointer -o jit jit.c
compiled() {	# DIR LINES [COMMAND...]
	local i
	run 0 record --stack=sys_getppid -e syscalls -o "$1" -- "${@:3}" ./jit "$2"
	for i in 0 1 2 3; do
		expect "$1" sys_getppid/begin ";main;Compiled::number$i " 10
	done
}
compiled jit_few 10
compiled jit_huge 100000
if unshare -pf true 2>/dev/null; then
	compiled jit_inner 10 unshare -pf
	# shellcheck disable=SC2016 # for the inner shell
	compiled jit_nested 10 unshare -pf sh -c 'unshare -pf "$@"; exit' sh
fi

# As many functions beside each other: readers take seconds.
run 0 record --stack=sys_getppid -e syscalls -o wide -- ./jit 0
(
	ulimit -t 20
	"$ctl" report -q -o wide.html wide
) || fail "report of many functions"
grep -q '<title>main: 100000 events' wide.html || fail "flame graph of many functions"
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
./gone_bomb -1 & started+=($!); pid=$!
until [ "$(readlink "/proc/$pid/exe")" = "$PWD/gone_bomb" ]; do sleep 0.05; done
rm gone_bomb
run 0 record --stack -e syscalls -p "$pid" --duration 0.5 -o gone_bombed
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
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
"$ctl" dump known >pipe 2>err & pid=$!
started+=("$pid")
exec 9<pipe
for ((i = 0; i < 100; i++)); do
	readers=$(pgrep -P $pid) && grep -q '^Seccomp:.*2$' /proc/"${readers%%[!0-9]*}"/status &&
		break
	sleep 0.1
done
[ -n "$readers" ] || fail "no process reads symbols"
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
	for ((i = 0; i < 100; i++)); do
		grep -q '^State:.[^Z]' /proc/"$reader"/status 2>/dev/null || break
		sleep 0.1
	done
	[ $i -lt 100 ] || fail "a process is left"
done
