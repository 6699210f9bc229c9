# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For tests of stacks: a program with a known chain of functions, and sums of events by stack
# shellcheck source=tests/native/record.sh
. "$(dirname "$0")/record.sh"

export TSCTRACE_PROVIDER=embedded
cd "$work"

need_first_pid_namespace
needs_kernel_events

cat >chain.c <<'END'
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
#define FUNCTION __attribute__((noinline, noclone, noipa))
volatile long sink;
FUNCTION void leaf_call(void)
{
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_getppid) : "rcx", "r11", "memory");
	sink += ret;
}
FUNCTION void middle_call(void) { leaf_call(); sink++; }
FUNCTION void outer_call(void) { middle_call(); sink++; }

/* Each number has a stack of its own: an odd or an even call for each bit */
void even_call(unsigned int n, unsigned int bits);
FUNCTION void odd_call(unsigned int n, unsigned int bits)
{
	if (!bits)
		leaf_call();
	else if (n & 1)
		odd_call(n >> 1, bits - 1);
	else
		even_call(n >> 1, bits - 1);
	sink++;
}
FUNCTION void even_call(unsigned int n, unsigned int bits)
{
	if (!bits)
		leaf_call();
	else if (n & 1)
		odd_call(n >> 1, bits - 1);
	else
		even_call(n >> 1, bits - 1);
	sink++;
}

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 1, bits = argc > 2 ? atoi(argv[2]) : 0;

	for (i = 0; bits && i < 1 << bits; i++) {
		odd_call(i, bits);
		if (argc > 3 && i % 1024 == 0)
			usleep(50000);
	}
	for (i = 0; !bits && (i < n || n < 0); i++) {
		outer_call();
		if (n < 0)
			usleep(1000);
	}
	return 0;
}
END
compile() {	# OUTPUT ARGUMENT...
	${CC:-cc} -O0 -std=gnu11 -D_GNU_SOURCE -fno-omit-frame-pointer \
		-fno-optimize-sibling-calls -o "$1" chain.c "${@:2}"
}
compile chain -Wl,--build-id
# shellcheck disable=SC2034 # for the tests
chain='main;outer_call;middle_call;leaf_call'

# Sum of the events of folded stacks that match
sum() {	# DIR EVENT PATTERN
	"$ctl" export -q -f folded -o - --event "$2" "$1" >folded || fail "export $1"
	awk -v pattern="$3" '$0 ~ pattern { n += $NF } END { print n + 0 }' folded
}
expect() {	# DIR EVENT PATTERN NUMBER
	local n
	n=$(sum "$1" "$2" "$3")
	[ "$n" = "$4" ] || { head -n 20 folded; fail "$1: $2: $n stacks match $3, not $4"; }
}
