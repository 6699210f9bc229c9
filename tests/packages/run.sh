#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [SUITE]... - build and try the packages in roots of Debian and Ubuntu
#
# Run as root by `make check-packages`, not by `make check`: it takes minutes and needs the
# mirrors of Debian and Ubuntu. SUITE is bookworm, trixie or sid, or noble or resolute, which
# are Ubuntu 24.04 and 26.04 (default: all). For each:
# builds the packages twice, in different folders, and compares them; runs lintian and
# hardening-check; then, in a root without any of it, runs inside.sh: installs, uses,
# upgrades and purges them. DKMS builds the module there for the kernel of the release.
# On bookworm, rpm.sh does the same with the RPM packages, and a container with systemd
# gets those of Debian (tests/service).
# First, dkms.sh builds the module for the kernels of the tests.
#
# The roots are kept in ${XDG_CACHE_HOME:-~/.cache}/tsctrace/packages-SUITE; the output is
# in build/packages/SUITE. MIRROR= is the archive of Debian (http://deb.debian.org/debian),
# UBUNTU= that of Ubuntu (http://archive.ubuntu.com/ubuntu).
#
# Exit status: 0 passed, 1 failed.
set -euo pipefail
shopt -s inherit_errexit

debian=${MIRROR:-http://deb.debian.org/debian}
ubuntu=${UBUNTU:-http://archive.ubuntu.com/ubuntu}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$(realpath -m "${O:-$top/build}")/packages
cache=${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME}/.cache}/tsctrace
# As of packages that are built for one release of a distribution
revision=~test1
unset MAKEFLAGS MFLAGS MAKELEVEL SOURCE_DATE_EPOCH

log() { echo "packages: $*" >&2; }
die() { log "$*"; exit 1; }

[ "$(id -u)" -eq 0 ] || die "run this as root: it makes roots of Debian"
command -v mmdebstrap >/dev/null || die "mmdebstrap is missing: run tests/deps.sh --packages"

work=$(mktemp -d)
cleanup() {
	umount "$work/root" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

# Prints the packages of the root in which packages are built.
build_packages() {
	printf '%s\n' build-essential devscripts lintian python3 rpm systemd
	sed -n '/^Build-Depends:/,/^$/s/^ \([a-z0-9.+-]*\).*/\1/p' \
		"$top/tools/packaging/debian/control" |
		sed 's/^debhelper-compat$/debhelper/; /^bpftool$/d; s/^dh-sequence-dkms$/dh-dkms/
			s/^dh-sequence-python3$/dh-python/; /^dh-sequence/d; /^systemd-dev$/d'
	[ "$1" = bookworm ] || echo systemd-dev
	if [ "$1" = noble ]; then echo linux-tools-generic; else echo bpftool; fi
}

is_ubuntu() { [[ $1 = noble || $1 = resolute ]]; }

# Prints the packages of the root in which packages are used: the usual ones, gcc, and the
# headers of the kernel.
user_packages() {
	printf '%s\n' bash-completion gcc libc6-dev man-db pkgconf python3 sudo systemd
	if is_ubuntu "$1"; then echo linux-headers-generic; else echo linux-headers-amd64; fi
}

# Prints the options of mmdebstrap for an archive. Ubuntu's keys are a package of Debian 13, but
# not of Debian 12.
archive_options() {	# SUITE
	is_ubuntu "$1" || return 0
	[ -e "$work/keys/usr" ] || mmdebstrap --quiet --variant=extract \
		--include=ubuntu-archive-keyring trixie "$work/keys" "$debian" >&2
	printf '%s\n' --components=main,universe "--keyring=$work/keys/usr/share/keyrings"
}

make_root() {	# SUITE DIR PACKAGE...
	local list="${*:3}" options mirror=$debian
	[ "$(cat "$2.packages" 2>/dev/null)" != "$list" ] || return 0
	log "$1: making $2"
	rm -rf --one-file-system "$2"
	mkdir -p "$2"
	options=$(archive_options "$1")
	! is_ubuntu "$1" || mirror=$ubuntu
	# shellcheck disable=SC2086
	mmdebstrap --quiet --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' $options \
		--include="${list// /,}" "$1" "$2" "$mirror" >"$2.log" 2>&1 || {
		tail -n 20 "$2.log" >&2
		die "mmdebstrap failed: $2.log"
	}
	echo "$list" >"$2.packages"
}

# Runs a command in a root, with the release's sources at /src, read-only, and $suite_out at /out.
# Changes elsewhere are forgotten; processes that it starts end with it.
in_root() {	# ROOT COMMAND...
	rm -rf "$work/upper" "$work/scratch"
	mkdir -p "$work/upper" "$work/scratch" "$work/root"
	unshare --mount --propagation private --pid --fork --kill-child bash -euc '
		base=$1 work=$2 sources=$3 out=$4 root=$2/root
		mount -t overlay overlay -o \
			"lowerdir=$base,upperdir=$work/upper,workdir=$work/scratch" "$root"
		mkdir -p "$root/src" "$root/out"
		mount --bind "$sources" "$root/src"
		mount -o remount,bind,ro "$root/src"
		mount --bind "$out" "$root/out"
		mount -t tmpfs tmpfs "$root/tmp"
		mount -t tmpfs -o mode=755 tmpfs "$root/run"
		mount -t proc proc "$root/proc"
		for dir in sys dev; do mount --rbind "/$dir" "$root/$dir"; done
		cp /etc/resolv.conf "$root/etc/resolv.conf"
		exec chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 TERM=dumb \
			DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:5}"
	' - "$1" "$work" "$sources" "$suite_out" "${@:2}"
}

# Builds the packages twice. The second time, folder, umask, language and zone differ.
build() {	# ROOT
	log "$suite: building"
	in_root "$1" env DEB_REVISION=$revision /src/tools/packaging/deb.sh /out/first \
		>"$suite_out/build.log" 2>&1 ||
		die "$suite: the build failed: $suite_out/build.log"
	in_root "$1" env DEB_REVISION=$revision sh -c 'umask 027; mkdir -p /out/second/deeper
		TZ=Asia/Tokyo LANG=C exec /src/tools/packaging/deb.sh /out/second/deeper' \
		>"$suite_out/build2.log" 2>&1 || die "$suite: the second build failed"
	for file in "$suite_out"/first/*.{deb,dsc,tar.xz}; do
		cmp "$file" "$suite_out/second/deeper/${file##*/}" ||
			die "$suite: ${file##*/} is not reproducible"
	done
	rm -rf "$suite_out/second" "$suite_out"/first/tsctrace-*/
}

check() {	# ROOT
	in_root "$1" lintian --allow-root --fail-on error,warning \
		--suppress-tags bad-distribution-in-changes-file \
		/out/first/"$(cd "$suite_out/first" && echo ./*.changes)" >"$suite_out/lintian" 2>&1 ||
		{ cat "$suite_out/lintian" >&2; die "$suite: lintian"; }
	in_root "$1" sh -euc 'for deb in /out/first/*.deb; do
			case $deb in *-dbgsym_*) ;; *) dpkg -x "$deb" /tmp/files ;; esac
		done
		find /tmp/files -type f \( -name "*.so*" -o -perm -u+x \) | while read -r file; do
			! readelf -h "$file" >/dev/null 2>&1 || echo "$file"
		done >/tmp/programs
		# Not checked: branch protection, which is of another processor, and control-flow
		# protection, which depends on the compiler of the distribution. Older versions
		# of hardening-check have no such options.
		flags=
		for flag in --nocfprotection --nobranchprotection; do
			! hardening-check --help | grep -q -e "$flag" || flags="$flags $flag"
		done
		# libtsctrace-mpi has no call for which the compiler adds a check at run time.
		grep -v libtsctrace-mpi /tmp/programs | xargs hardening-check $flags
		grep libtsctrace-mpi /tmp/programs | xargs hardening-check --nofortify $flags' \
		>"$suite_out/hardening" 2>&1 || { cat "$suite_out/hardening" >&2; die "$suite: hardening"; }
	[ "$(grep -c ' Stack protected: yes' "$suite_out/hardening")" -ge 4 ] ||
		die "$suite: hardening-check saw too few programs: $suite_out/hardening"
}

# Runs a script of this folder in a root; its output is kept in NAME.log.
try_packages() {	# ROOT NAME [ARGUMENT]
	in_root "$1" "/src/tests/packages/$2.sh" "$("$top/tools/packaging/release.sh" version)" \
		"${@:3}" \
		>"$suite_out/$2.log" 2>&1 || {
		tail -n 30 "$suite_out/$2.log" >&2
		die "$suite: $suite_out/$2.log"
	}
	log "$suite: $(tail -n 1 "$suite_out/$2.log")"
}

# Makes packages of an older version, with another default configuration.
make_old() {
	local deb dir version old=0.0.9
	version=$("$top/tools/packaging/release.sh" version)
	mkdir -p "$suite_out/old"
	for deb in "$suite_out"/first/*.deb; do
		[[ $deb != *-dbgsym_* ]] || continue
		dir=$work/old
		dpkg-deb -R "$deb" "$dir"
		! [ -d "$dir/usr/src" ] || mv "$dir/usr/src/tsctrace-$version" "$dir/usr/src/tsctrace-$old"
		find "$dir/DEBIAN" "$dir"/usr/src/*/dkms.conf "$dir"/usr/src/*/kmod/uapi -type f \
			2>/dev/null | xargs sed -i "s/${version//./\\.}/$old/g" || true
		! [ -e "$dir/etc/tsctrace" ] || echo "# of $old" >>"$dir/etc/tsctrace/tsctraced.conf"
		dpkg-deb --root-owner-group -b "$dir" "$suite_out/old" >/dev/null
		rm -rf "$dir"
	done
}

# Builds RPM packages, and those of an older version with another default configuration.
build_rpms() {	# ROOT
	log "$suite: building RPM packages"
	in_root "$1" bash -euc '
		/src/tools/packaging/rpm.sh /out/rpm
		version=$(/src/tools/packaging/release.sh version)
		cp -R /src /tmp/old
		cd /tmp/old
		sed -i "s/${version//./\\.}/0.0.9/" kmod/uapi/tsctrace/version.h NEWS
		echo "# of 0.0.9" >>Documentation/examples/tsctraced.conf
		tools/packaging/rpm.sh /out/rpm-old' >"$suite_out/rpmbuild.log" 2>&1 ||
		die "$suite: the build of RPM packages failed: $suite_out/rpmbuild.log"
}

"$here/dkms.sh"
tar -xf "$("$top/tools/packaging/dist.sh" "$work")" -C "$work"
sources=$(echo "$work"/tsctrace-*/)
[ $# -gt 0 ] || set -- bookworm trixie sid noble resolute
for suite; do
	suite_out=$out/$suite
	rm -rf "$suite_out"
	mkdir -p "$suite_out" "$cache"
	# shellcheck disable=SC2046
	make_root "$suite" "$cache/packages-$suite/build" $(build_packages "$suite")
	# shellcheck disable=SC2046
	make_root "$suite" "$cache/packages-$suite/user" $(user_packages "$suite")
	build "$cache/packages-$suite/build"
	check "$cache/packages-$suite/build"
	make_old
	log "$suite: installing and using"
	try_packages "$cache/packages-$suite/user" inside "$revision"
	[ "$suite" = bookworm ] || continue
	build_rpms "$cache/packages-$suite/build"
	log "$suite: installing and using RPM packages"
	try_packages "$cache/packages-$suite/user" rpm
	log "$suite: installing and using in a container with systemd"
	DEBS=$suite_out/first "$top/tests/service/t_service.sh" >"$suite_out/service.log" 2>&1 || {
		cat "$suite_out/service.log" >&2
		die "$suite: tests/service/t_service.sh"
	}
done
log "passed"
