#!/bin/sh
# SPDX-License-Identifier: MIT
# Documentation/abi.rst agrees with abi.h: it has each structure with its
# size, each request and constant with its value, each request with its errors and with
# the size of its argument in the first version, and nothing that is not in the header.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
header=kmod/uapi/tsctrace
library=lib/include/tsctrace
page=Documentation/abi.rst
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The text of the ABI's headers, without abi_netlink.h, which t_netlink_spec.sh compares
# with its specification
cat "$header/abi_channel.h" "$header/abi_disruption.h" "$header/abi_reserved.h" \
	"$header/abi.h" "$library/abi_clock.h" "$library/abi_socket.h" >"$tmp/text"
sed -n 's/^struct \(tsct_[a-z_]*\) {$/\1/p' "$tmp/text" >"$tmp/structs"
sed -n 's/^#define[ \t]*\(TSCT_[A-Z0-9_]*\)[ \t].*/\1/p' "$tmp/text" >"$tmp/constants"

{
	cat <<'END'
#include <stdio.h>
#include "lib/abi/request.c"
#define SHOW(name) _Generic((name), char *: text, default: number)(#name, \
	_Generic((name), char *: (name), default: ""), \
	_Generic((name), char *: 0ULL, default: (name)))
static void text(const char *name, const char *string, unsigned long long x)
{
	(void)x;
	printf("%s \"%s\"\n", name, string);
}
static void number(const char *name, const char *string, unsigned long long x)
{
	(void)string;
	printf(x < 1 << 20 ? "%s %llu\n" : "%s %#llx\n", name, x);
}
static void first_size(const char *name, __u32 cmd)
{
	const struct tsct_request_type *type;
	__u32 size = 0;

	while (size < TSCT_ARG_MAX && tsct_request_find(_IOC(_IOC_DIR(cmd),
			_IOC_TYPE(cmd), _IOC_NR(cmd), size), &type))
		size++;
	printf("from %s %u\n", name, size);
}
int main(void)
{
END
	sed 's/.*/printf("& %zu\\n", sizeof(struct &));/' "$tmp/structs"
	sed 's/.*/SHOW(&);/' "$tmp/constants"
	grep '^TSCT_IOC_' "$tmp/constants" | grep -v MAGIC |
		sed 's/.*/first_size("&", &);/'
	echo 'return 0; }'
} >"$tmp/show.c"
${CC:-cc} -std=gnu11 -w -I. -Ikmod/uapi -Ilib/include -o "$tmp/show" "$tmp/show.c"
"$tmp/show" | sort >"$tmp/have"

# Reads the tables of structures and numbers in Documentation/abi.rst: NAME VALUE ...
awk '/^Structures$/ { on = 1 } /^mmap$/ { on = 0 }
	on && $1 ~ /^(tsct_|TSCT_)[A-Za-z0-9_]+$/ && NF > 1 { print $1, $2 }
	on && $1 ~ /^TSCT_IOC_/ && $1 !~ /MAGIC/ { print "from", $1, $3 }' "$page" |
	sort >"$tmp/said"

fail=0
if ! diff "$tmp/have" "$tmp/said" >"$tmp/diff"; then
	echo "abi.h (<) and $page (>) differ:"
	grep '^[<>]' "$tmp/diff"
	fail=1
fi
for request in $(grep '^TSCT_IOC_' "$tmp/constants" | grep -v MAGIC); do
	awk '/^Requests and their errors$/ { on = 1 } /^The ring$/ { on = 0 } on' \
		"$page" | grep -q "^$request  *[^ ]" || {
		echo "$page does not say what errors $request gives"
		fail=1
	}
done
[ "$(wc -l <"$tmp/structs")" -gt 20 ] && [ "$(wc -l <"$tmp/constants")" -gt 100 ] || {
	echo "no structures or constants found in $header"
	fail=1
}
echo "$(wc -l <"$tmp/structs") structures, $(wc -l <"$tmp/constants") constants"
[ -z "${SHOW:-}" ] || cat "$tmp/have"
exit $fail
