#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rpm.sh VERSION - install, upgrade, use, reinstall and erase the RPM packages
#
# Run by run.sh, as root in a root of Debian that is thrown away. /out/rpm has the RPM
# packages, /out/rpm-old those of version 0.0.9, /out/first those of Debian, /src the
# sources. rpm unpacks into the root itself and runs the scriptlets; Debian's packages bring
# the libraries, which are not in rpm's database (--nodeps).
set -euo pipefail

version=$1
cd /root
fail() { echo "FAILED: $*"; exit 1; }
apt() { apt-get -q -y --no-install-recommends "$@"; }
run_rpm() { rpm "$1" --force-debian --nodeps "${@:2}"; }
list_files() {
	find / -xdev \( -path /src -o -path /out -o -path /proc -o -path /sys -o -path /dev \
		-o -path /tmp -o -path /root -o -path /var/lib/rpm -o -path /var/cache \
		-o -path '*/__pycache__' \) -prune -o -print | sort
}

# --- the dependencies, without our packages of Debian -----------------------------------
apt update
mapfile -t debs < <(find /out/first -name '*.deb' ! -name '*-dbgsym_*' ! -name '*-dkms_*')
# dkms uses ps to recognize an upgrade by rpm.
apt install "${debs[@]}" rpm dkms procps
mapfile -t names < <(printf '%s\n' "${debs[@]}" | sed 's|.*/\([^_]*\)_.*|\1|')
apt purge "${names[@]}"
userdel tsctrace
! command -v trace-ctl || fail "trace-ctl is still installed"
rpm --initdb
# Folders that the package filesystem has on RPM's systems
libdir=$(rpm --eval '%{_libdir}')
mkdir -p "$libdir/pkgconfig" /usr/share/{fish/vendor_completions.d,licenses,man/man4} \
	/usr/share/zsh/site-functions \
	"$(python3 -c 'import sysconfig; print(sysconfig.get_path("platlib", "posix_prefix"))')"
list_files >/tmp/before

# --- an older version, in use, and its upgrade --------------------------------------------
conf=/etc/tsctrace/tsctraced.conf
mapfile -t olds < <(find /out/rpm-old/RPMS -name '*.rpm' ! -name '*-debug*')
run_rpm -i "${olds[@]}"
[ "$(rpm -q --qf '%{VERSION}' tsctrace)" = 0.0.9 ] || fail "0.0.9 is not installed"
echo "name packagetest" >>$conf
mkdir -p /var/lib/tsctrace/recording
touch /var/lib/tsctrace/recording/metadata
mapfile -t rpms < <(find /out/rpm/RPMS -name '*.rpm' ! -name '*-debug*')
names=(tsctrace tsctrace-libs tsctrace-devel python3-tsctrace tsctrace-dkms)
[ "${#rpms[@]}" = "${#names[@]}" ] || fail "packages: ${rpms[*]}"
run_rpm -U "${rpms[@]}"
grep -q '^name packagetest$' $conf && [ -e $conf.rpmnew ] || fail "the configuration is lost"
[ -e /var/lib/tsctrace/recording/metadata ] || fail "a recording is lost"
[ ! -e /usr/src/tsctrace-0.0.9 ] && ! dkms status | grep 'tsctrace.*0\.0\.9' ||
	fail "the old module is left: $(dkms status)"
mv $conf.rpmnew $conf
rm -r /var/lib/tsctrace/recording
rmdir --ignore-fail-on-non-empty /var/lib/tsctrace
rpm -V --nodeps "${names[@]}" || fail "rpm -V"
list_files >/tmp/installed
comm -13 /tmp/before /tmp/installed >/tmp/new
rpm -ql "${names[@]}" | sort -u >/tmp/owned
# The scriptlets create the state of DKMS and the user.
comm -23 /tmp/new /tmp/owned | grep -v '^/var/lib/dkms/tsctrace' >/tmp/strays || true
[ ! -s /tmp/strays ] || { cat /tmp/strays; fail "files of no package"; }
for file in /usr/bin/trace-ctl /usr/sbin/tsctraced /etc/tsctrace/tsctraced.conf \
		/usr/share/man/man1/trace-ctl-record.1 /usr/share/man/man8/tsctraced.8 \
		/usr/lib/systemd/system/tsctraced.service \
		"/usr/src/tsctrace-$version/kmod/Kbuild"; do
	grep -qE "^$file(\.gz)?$" /tmp/owned || fail "no package has $file"
done
! grep 'merge-mpi' /tmp/owned || fail "a page or program for an MPI that is unknown"
getent passwd tsctrace || fail "no user tsctrace"
[ "$(stat -c %U /run/tsctrace)" = tsctrace ] || fail "/run/tsctrace"
dkms status | grep "^tsctrace[/,] *$version" || fail "DKMS: $(dkms status)"

# --- use --------------------------------------------------------------------------------
[ "$(trace-ctl --version)" = "trace-ctl $version" ] || fail "trace-ctl --version"
tsctraced --check-config || fail "tsctraced --check-config"
trace-ctl record -q -o first -- trace-ctl emit hello count=3
trace-ctl dump first | grep 'hello.*3' || fail "trace-ctl dump"
# Debian looks for libraries and modules of Python elsewhere than RPM's systems do.
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
# shellcheck disable=SC2046
gcc -o program /src/tests/packages/program.c $(pkg-config --cflags --libs tsctrace)
trace-ctl record -q -o second -- ./program
trace-ctl dump second | grep 'work.*4711' || fail "a program in C"
PYTHONPATH=$(rpm -ql python3-tsctrace | sed -n 's|/tsctrace/__init__\.py$||p')
# The packages of systems with RPM have the bytecode; those built on Debian do not.
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1
trace-ctl record -q -o third -- /usr/bin/python3 -c 'import tsctrace; tsctrace.event("py", n=5)'
trace-ctl dump third | grep 'py.*5' || fail "a program in Python"
unset PKG_CONFIG_PATH LD_LIBRARY_PATH PYTHONPATH

# --- reinstall, erase ---------------------------------------------------------------------
cp $conf /tmp/as-installed
echo "name packagetest" >>$conf
run_rpm -U --replacepkgs "${rpms[@]}"
grep -q '^name packagetest$' $conf || fail "the configuration is lost"
dkms status | grep "^tsctrace[/,] *$version" || fail "DKMS after reinstallation: $(dkms status)"
[ "$(trace-ctl --version)" = "trace-ctl $version" ] || fail "trace-ctl after reinstallation"
cp /tmp/as-installed $conf
run_rpm -e "${names[@]}"
[ ! -e /usr/bin/trace-ctl ] && [ ! -e /usr/sbin/tsctraced ] || fail "a program is left"
[ ! "$(dkms status | grep tsctrace)" ] || fail "DKMS after the removal: $(dkms status)"
list_files >/tmp/after
diff /tmp/before /tmp/after >/tmp/left || { cat /tmp/left; fail "rpm -e leaves files"; }
[ -e first/metadata ] || fail "rpm -e deletes recordings"
echo "RPM: $(wc -l </tmp/owned) files and folders installed, upgraded, used, reinstalled and erased"
