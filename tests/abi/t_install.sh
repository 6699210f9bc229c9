#!/bin/sh
# SPDX-License-Identifier: MIT
# make install puts every file into one tree below DESTDIR, even if DESTDIR is relative
# and contains a blank; a relative O= means the same build directory in every sub-make.
# make uninstall removes these files, and nothing else.
set -eu
unset DESTDIR PREFIX MAKEFLAGS MAKELEVEL
top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(realpath -m "${O:-$top/build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; cat "$work/log"; exit 1; }

cd "$top"
run_make() {
	make O="$(realpath --relative-to=. "$O")" PREFIX=/opt/t \
		DESTDIR="$(realpath --relative-to=. "$work")/a stage" "$1" >"$work/log" 2>&1 ||
		fail "make $1"
}
run_make install
cd "$work/a stage/opt/t" || fail "not where it was sent"
for file in bin/trace-ctl sbin/tsctraced lib/libtsctrace.a lib/libtsctrace.so \
		lib/libtsctrace.so.0 lib/pkgconfig/tsctrace.pc \
		include/tsctrace/tsctrace.h include/tsctrace/abi.h \
		include/tsctrace/abi_channel.h include/tsctrace/abi_clock.h \
		include/tsctrace/abi_netlink.h \
		include/tsctrace/abi_reserved.h \
		include/tsctrace/clock.h include/tsctrace/clock.hpp include/tsctrace/scope.hpp \
		include/tsctrace/event.h include/tsctrace/fields.h \
		include/tsctrace/section.h include/tsctrace/stamp.h \
		include/tsctrace/tsctrace.f90 \
		share/man/man1/trace-ctl.1 share/man/man3/tsct_channel_open.3 \
		lib/systemd/system/tsctraced.service \
		lib/sysusers.d/tsctrace.conf lib/tmpfiles.d/tsctrace.conf \
		share/man/man8/tsctraced.8; do
	[ -s "$file" ] || fail "there is no $file"
done
for library in "$O"/lib/libtsctrace-mpi-*.so; do
	[ ! -e "$library" ] || [ -s "lib/${library##*/}" ] || fail "there is no ${library##*/}"
done
for program in "$O"/tools/trace-ctl-merge-mpi-*; do
	[ ! -e "$program" ] || { [ -x "bin/${program##*/}" ] && [ -x bin/trace-ctl-merge-mpi ]; } ||
		fail "there is no ${program##*/}"
done
if ls "$O"/python/tsctrace/_tsctrace*.so >/dev/null 2>&1; then
	module=$(echo lib/python*/dist-packages/tsctrace)
	[ -s "$module/__init__.py" ] || fail "there is no Python module"
	TSCTRACE_PROVIDER=none PYTHONPATH=${module%/*} /usr/bin/python3 -c \
		'import tsctrace; tsctrace.event("a", n=1)' || fail "the Python module does not run"
fi
cmp bin/trace-ctl "$O/tools/trace-ctl" || fail "whose trace-ctl?"
[ "$(ls "$work")" = "$(printf 'a stage\nlog')" ] || fail "strays: $(ls "$work")"
files=$(find . -type f | wc -l)
mkdir -p "$work/a stage/etc/tsctrace" "$work/a stage/opt/t/share/tsctrace"
for kept in etc/tsctrace/tsctraced.conf opt/t/share/tsctrace/recording opt/t/bin/other; do
	echo kept >"$work/a stage/$kept"
done
cd "$top"
run_make uninstall
[ "$(find "$work/a stage" -type f | wc -l)" = 3 ] ||
	fail "make uninstall leaves: $(find "$work/a stage" -type f)"
left=$(find "$work/a stage" -type d -path '*include/tsctrace*')
[ ! "$left" ] || fail "make uninstall leaves $left"
echo "$files files, one tree"
