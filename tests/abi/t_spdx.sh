#!/bin/sh
# SPDX-License-Identifier: MIT
# Every file has its licence in its first line (second, behind a #!), and the
# right one for its folder.
# test-parallel: yes
# test-seconds: 4
set -eu
cd "$(dirname "$0")/../.."

want() {
	case $1 in
	kmod/uapi/*) echo '(GPL-2.0 WITH Linux-syscall-note) OR MIT' ;;
	kmod/* | Kbuild | */dkms.conf.in) echo 'GPL-2.0-only' ;;
	lib/abi/* | lib/core/* | tools/bpf/*) echo 'GPL-2.0-only OR MIT|MIT' ;;
	*) echo 'MIT' ;;
	esac
}

fail=0
n=0
files=$(git ls-files 2>/dev/null || true)
[ -n "$files" ] || files=$(find . -type f ! -path './build/*' | sed 's|^\./||')
for f in $files; do
	case $f in
	LICENSE | */copyright | .gitignore | *.xz | *.bin | *.expected) continue ;;
	esac
	[ -f "$f" ] || continue
	n=$((n + 1))
	got=$(sed -n '1,2s/.*SPDX-License-Identifier: \(.*\)/\1/p' "$f" | head -n 1 |
		sed 's/ *\(\*\/\|-->\)$//')
	case "|$(want "$f")|" in
	*"|$got|"*) ;;
	*)
		echo "$f: licence '$got', expected $(want "$f")"
		fail=1
		;;
	esac
done
echo "$n files"
exit $fail
