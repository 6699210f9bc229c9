#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands of README.md and of the tutorial run as they are printed there, and print what is
# said below them.
# test-wing: formats
. "$(dirname "$0")/record.sh"
need_root "kernel events"
needs_kernel_events

mkdir "$work/bin" "$work/pkgconfig" "$work/readme" "$work/tutorial"
sed "s|@PREFIX@|$out|; s|@LIBDIR@|$out/lib|; s|@VERSION@|0|
	s|@INCLUDEDIR@|$top/lib/include -I$top/kmod/uapi|" "$top/lib/tsctrace.pc.in" \
	>"$work/pkgconfig/tsctrace.pc"
printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
chmod +x "$work/bin/sudo"
export PATH=$work/bin:$out/tools:$out/daemon:$PATH PKG_CONFIG_PATH=$work/pkgconfig
export LD_LIBRARY_PATH=$out/lib PYTHONPATH=$out/python
[ -x "$out/examples/jobs" ] || fail "no $out/examples/jobs: run 'make examples' first"
need pkg-config cc

# As README.md has it, without a daemon; it names programs of the build directory
ln -s "$out" "$work/readme/build"
(cd "$work/readme" && "$here/document_run.py" "$top/README.md") || fail "README.md"
ok "README.md"

start_daemon --no-module
unset TSCTRACE_PROVIDER
(cd "$work/tutorial" && "$here/document_run.py" "$top/Documentation/tutorial.rst") ||
	fail "the tutorial"
ok "the tutorial"
stop_daemon
echo "1..$passed"
