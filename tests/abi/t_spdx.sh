#!/bin/sh
# SPDX-License-Identifier: MIT
# Every file has its licence in its first line (second, behind a #!), and the
# right one for its folder. The whole is as the REUSE specification says: copyright and
# license of every file are stated, and each license's text is in LICENSES/.
set -eu
cd "$(dirname "$0")/../.."

want() {
	case $1 in
	kmod/uapi/*) echo '(GPL-2.0-only WITH Linux-syscall-note) OR MIT' ;;
	kmod/* | Kbuild | */dkms.conf.in) echo 'GPL-2.0-only' ;;
	lib/abi/* | lib/core/* | tools/bpf/* | tools/wings/probes/probe* | tools/wings/kernel/*.bpf.c) echo 'GPL-2.0-only OR MIT|MIT' ;;
	*) echo 'MIT' ;;
	esac
}

fail=0
files=$(git ls-files 2>/dev/null || true)
[ -n "$files" ] || files=$(find . -type f ! -path './build/*' | sed 's|^\./||')
# FILE|LICENCE, of the first or the second line, or FILE|
found=$(echo "$files" |
	grep -Ev '^LICENSES?(/|$)|^\.reuse/dep5$|/copyright$|\.gitignore$|\.(xz|bin|expected)$' |
	xargs -d '\n' awk 'FNR > 2 { nextfile }
		sub(/.*SPDX-License-Identifie[r]: /, "") && !(FILENAME in got) {
			sub(/ *(\*\/|-->)$/, "")
			got[FILENAME] = $0
		}
		END { for (i = 1; i < ARGC; i++) print ARGV[i] "|" got[ARGV[i]] }')
while IFS='|' read -r f got; do
	case "|$(want "$f")|" in
	*"|$got|"*) ;;
	*)
		echo "$f: licence '$got', expected $(want "$f")"
		fail=1
		;;
	esac
done <<END
$found
END
echo "$(echo "$found" | wc -l) files"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
echo "$files" | tar c --files-from - | tar x -C "$work/tree"
reuse --root "$work/tree" lint >"$work/log" 2>&1 || fail=1
grep -v '^$' "$work/log" | tail -n 20
! grep 'ERROR' "$work/log" || fail=1
exit $fail
