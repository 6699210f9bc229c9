#!/bin/sh
# SPDX-License-Identifier: MIT
# Documentation/protocol.rst agrees with lib/ntp: in the drawing of the extension field
# each member has its offset and size, without gaps; each flag has its value; each
# reason for which a packet is dropped is listed.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
page=Documentation/protocol.rst
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail=0

compare() {	# WHAT HAVE SAID LEAST
	if ! diff "$2" "$3" >"$tmp/diff"; then
		echo "$1: the code (<) and $page (>) differ:"
		grep '^[<>]' "$tmp/diff"
		fail=1
	fi
	[ "$(wc -l <"$2")" -ge "$4" ] || {
		echo "$1: only $(wc -l <"$2") found"
		fail=1
	}
}

# Prints "name[: value] offset size" for each cell of the drawing below a heading.
drawing() {	# TITLE
	awk -v title="$1" '
	function flush_row(  i) {
		for (i = 1; i <= n; i++)
			print cell[i], at + (i - 1) * 2, n == 2 ? 2 : 4 * rows
	}
	$0 == title { on = 1; next }
	on && /^[^ :]/ && !/^-/ { exit }
	!on || !/\|/ { next }
	{
		split($0, part, "|")
		if (part[1] + 0 != 0 || part[1] ~ /0/) {
			flush_row()
			at = part[1] + 0; rows = 1; n = 0
			for (i = 2; part[i] != "" && i <= 3; i++) {
				gsub(/^ +| +$/, "", part[i])
				cell[++n] = part[i]
			}
		} else
			rows++
	}
	END { flush_row() }' "$page"
}
drawing "The extension field" >"$tmp/drawn"

# In the drawing of the extension field, the members neither overlap nor leave gaps.
awk '{ if ($(NF - 1) != end) { print "drawn at", $(NF - 1) ", not", end ": " $0; bad = 1 }
	end = $(NF - 1) + $NF }
	END { if (end != 160) { print "the field ends at", end; bad = 1 }; exit bad }' \
	"$tmp/drawn" || fail=1
sed 's/:.* \([0-9]* [0-9]*\)$/ \1/' "$tmp/drawn" | grep -v reserved |
	awk '{ print $1, $2 }' | sort >"$tmp/said"
sed -n 's/^\tTSCT_EXT_AT_\([A-Z_]*\) = \([0-9]*\),.*/\1 \2/p' lib/ntp/ntp_packet.h |
	tr A-Z a-z | sort >"$tmp/have"
compare "members" "$tmp/have" "$tmp/said" 20

# Compares the size of each member of the extension field in two places of
# Documentation/protocol.rst: the table of members, and the drawing of the field.
awk '$1 == "member" { on = 1 } on && /^$/ { exit } on && $2 ~ /^[0-9]+$/ { print $1, $2 / 8 }' \
	"$page" | sort >"$tmp/said"
grep -vE 'reserved|^(type|length|magic|version)' "$tmp/drawn" |
	awk '{ print $1, $NF }' | sort >"$tmp/have"
compare "sizes" "$tmp/have" "$tmp/said" 20

# Compares the values of the first members (type, length, magic, version) in the drawing
# with those in a packet that lib/ntp builds.
cat >"$tmp/show.c" <<'END'
#include <stdio.h>
#include "lib/ntp/ntp_packet.h"
int main(void)
{
	struct tsct_ntp_packet packet = { .version = 4, .has_ext = true };
	__u8 bytes[TSCT_NTP_MAX], *at = bytes + TSCT_NTP_HEADER;

	tsct_ntp_build(&packet, bytes);
	printf("type: %#x 0 2\n", at[0] << 8 | at[1]);
	printf("length: %d 2 2\n", at[2] << 8 | at[3]);
	printf("magic: \"%.4s\", %#x 4 4\n", at + 4, at[4] << 24 | at[5] << 16 |
	       at[6] << 8 | at[7]);
	printf("version: %d 8 2\n", at[8] << 8 | at[9]);
	return 0;
}
END
${CC:-cc} -std=gnu11 -w -D_GNU_SOURCE -Ikmod/uapi -Ilib/include -I. -o "$tmp/show" "$tmp/show.c" \
	lib/ntp/ntp_packet.c
"$tmp/show" >"$tmp/have"
grep ': ' "$tmp/drawn" >"$tmp/said"
compare "first words" "$tmp/have" "$tmp/said" 4

# The extension field's flags in ntp_packet.h and in the document, with their values
sed -n '/tsct_extension.flags/,/^struct/s/^#define \(TSCT_EXT_[A-Z_]*\)[\t ]*\(0x[0-9a-f]*\).*/\1 \2/p' \
	lib/ntp/ntp_packet.h | sort >"$tmp/have"
sed -n 's/^``\(TSCT_EXT_[A-Z_]*\)`` *0x0*\([0-9a-f]*\) .*/\1 0x\2/p' "$page" |
	sort >"$tmp/said"
compare "flags" "$tmp/have" "$tmp/said" 10

# Prints the reasons for dropping a packet: constants PREFIX_* of the client's or the
# server's header.
reasons() {	# PREFIX HEADER
	sed -n "s/^\t$1_\([A-Z_]*\),.*/\1/p" "$2" | grep -vE '^(OK|SENT|NR)$' | sort
}
said() {	# TITLE
	awk -v title="$1" '$0 == title { on = 1 } on && /^[A-Z_]+ / { print $1 }
		on && /^$/ && n++ > 1 { exit }' "$page" | sort -u
}
reasons TSCT_CLIENT lib/ntp/client.h >"$tmp/have"
said "The client:" >"$tmp/said"
compare "the client" "$tmp/have" "$tmp/said" 15
reasons TSCT_ANSWER lib/ntp/responder.h >"$tmp/have"
said "The server:" >"$tmp/said"
compare "the server" "$tmp/have" "$tmp/said" 8

echo "$(wc -l <"$tmp/drawn") cells"
exit $fail
