#!/bin/bash
# SPDX-License-Identifier: MIT
#
# dkms.sh [KERNEL]... - build the module by DKMS for kernels of the tests, and try it there
#
# In a guest, the module that DKMS built passes t_ctl, with trace-ctl of build/.
# KERNEL is a name as for tests/guest/kernel.sh (default: 6.1, 6.12 and their -rt). DKMS
# signs each module with a key that it makes, as for Secure Boot. It gets folders and a
# configuration of its own: on this machine, nothing is installed or changed. Needs root.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*"
	tail -n 30 "$work"/tree/tsctrace/*/build/make.log "$work/log" 2>/dev/null || true
	exit 1
}
PATH=$PATH:/usr/sbin
command -v dkms >/dev/null || { echo "dkms is missing: run tests/deps.sh --packages"; exit 1; }
out=$(realpath -m "${O:-$top/build}")
unset O KDIR MAKEFLAGS MFLAGS MAKELEVEL

version=$("$top/tools/packaging/release.sh" version)
source=$work/source/tsctrace-$version
"$top/tools/packaging/dkms.sh" "$source"
mkdir "$work/tree"
run_dkms() {
	unshare --mount --propagation private sh -euc '
		mount --bind "$0" /etc/dkms/framework.conf
		exec dkms "$@"' "$work/framework.conf" "$1" -m tsctrace -v "$version" \
		--sourcetree "$work/source" --dkmstree "$work/tree" --no-depmod "${@:2}" \
		>"$work/log" 2>&1 || fail "dkms $*"
}
cat >"$work/framework.conf" <<END
mok_signing_key="$work/mok.key"
mok_certificate="$work/mok.pub"
END
run_dkms add
[ $# -gt 0 ] || set -- 6.1-amd64 6.1-rt-amd64 6.12-amd64 6.12-rt-amd64
for name; do
	dir=$("$top/tests/guest/kernel.sh" get "$name")
	release=$(cat "$dir/release")
	echo "sign_file=\"$dir/build/scripts/sign-file\"" >>"$work/framework.conf"
	run_dkms build -k "$release" --kernelsourcedir "$dir/build"
	module=$(find "$work/tree/tsctrace/$version/$release" -name 'tsctrace.ko*' | head -n 1)
	[ -s "$module" ] || fail "$release: no module"
	[ "$(modinfo -F vermagic "$module" | cut -d ' ' -f 1)" = "$release" ] ||
		fail "$release: $(modinfo -F vermagic "$module")"
	[ "$(modinfo -F version "$module")" = "$version" ] || fail "$release: another version"
	[ "$(modinfo -F sig_id "$module")" = PKCS#7 ] && [ -s "$work/mok.pub" ] ||
		fail "$release: not signed"
	echo "$release: built, signed by '$(modinfo -F signer "$module")'"
	case $module in
	*.xz) xz -dc "$module" >"$work/tsctrace.ko" ;;
	*) cp "$module" "$work/tsctrace.ko" ;;
	esac
	O=$out TSCT_MODULE=$work/tsctrace.ko "$top/tests/guest/run.sh" --test t_ctl "$name" \
		>"$work/log" 2>&1 || fail "$release: t_ctl"
	grep -q '^ok .* t_ctl' "$work/log" || fail "$release: t_ctl did not run"
	echo "$release: works in a guest"
done
