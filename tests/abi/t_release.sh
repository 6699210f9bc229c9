#!/bin/bash
# SPDX-License-Identifier: MIT
# The tarball of `make dist` is the same, bit for bit, from folders with other paths, times
# and modes, and from the unpacked tarball. Programs, the library and NEWS have the
# version of kmod/uapi/tsctrace/version.h, and no other file repeats it.
# test-timeout: 1200
set -euo pipefail
cd "$(dirname "$0")/../.."
O=${O:-build}
unset MAKEFLAGS MAKELEVEL SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

version=$(tools/packaging/release.sh version)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "version '$version'"
[ "$("$O/tools/trace-ctl" --version)" = "trace-ctl $version" ] || fail "trace-ctl --version"
[ "$("$O/daemon/tsctraced" --version)" = "tsctraced $version" ] || fail "tsctraced --version"
grep -q "^Version: $version$" "$O/lib/tsctrace.pc" || fail "tsctrace.pc"
newest=$(grep -o '^TSCTRACE_[0-9.]*' lib/libtsctrace.map | tail -n 1)
[[ TSCTRACE_$version == "$newest".* ]] || fail "$newest is not the node of $version"
# The first release that has a node, for packages that are linked with it; with ~, packages of
# that release whose revision begins so (~deb12u1) count, too.
for node in $(grep -o '^TSCTRACE_[0-9.]*' lib/libtsctrace.map); do
	grep -q "^ (symver)$node ${node#TSCTRACE_}\.0~$" tools/packaging/debian/libtsctrace0.symbols ||
		fail "debian/libtsctrace0.symbols lacks $node"
done
[ "$(grep -m 1 '^tsctrace [0-9]' NEWS | cut -d ' ' -f 2)" = "$version" ] ||
	fail "NEWS does not begin with $version"

list_files() {
	if [ -e .git ]; then git ls-files; else find . -path ./build -prune -o -type f -print; fi
}
list_files | grep -v '^\(\./\)\?\(NEWS$\|.*/debian/libtsctrace0.symbols$\|kmod/uapi/tsctrace/version.h$\|tests/.*corpus/\)' |
	xargs -d '\n' grep -Fw -- "$version" >"$work/repeats" || true
[ ! -s "$work/repeats" ] || fail "the version is repeated: $(cat "$work/repeats")"

first=$(tools/packaging/dist.sh "$work/first")
mkdir -p "$work/a/b"
tar -xf "$first" -C "$work/a/b"
tree=$work/a/b/tsctrace-$version
[ -x "$tree/tests/run.py" ] || fail "tests/run.py is not in the tarball, or cannot be run"
mkdir "$tree/build"
touch "$tree/build/object"
find "$tree" -type f -exec touch -d 2001-02-03 {} +
chmod -R go-rwx "$tree"
second=$(umask 077; TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$tree/tools/packaging/dist.sh" "$work/second")
cmp "$first" "$second" || fail "the tarballs differ"
echo "$(stat -c %s "$first") bytes"
