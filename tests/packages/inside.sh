#!/bin/bash
# SPDX-License-Identifier: MIT
#
# inside.sh VERSION REVISION - install, use, upgrade and purge the packages
#
# Run by run.sh, as root in a root of Debian or Ubuntu that is thrown away. /out/old and /out/first
# have the packages, /src the sources.
set -euo pipefail

version=$1 revision=$2
cd /root
fail() { echo "FAILED: $*"; exit 1; }
apt() { apt-get -q -y --no-install-recommends -o Dpkg::Options::=--force-confdef \
	-o Dpkg::Options::=--force-confold "$@"; }
# Installs the packages in a folder.
install() {
	local list
	mapfile -t list < <(find "$1" -name '*.deb' ! -name '*-dbgsym_*')
	apt install "${list[@]}"
}
# Purges all of our packages. dpkg does not know a removed package without configuration.
purge() {
	local list
	mapfile -t list < <(find /out/first -name '*.deb' ! -name '*-dbgsym_*' |
		sed 's|.*/\([^_]*\)_.*|\1|' |
		xargs dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null |
		sed -n 's/ \(installed\|config-files\)$//p')
	[ "${#list[@]}" -gt 0 ] || fail "no package to purge"
	apt purge "${list[@]}"
}

# Prints the files that no package owns, without those of dpkg, apt and other packages.
unowned() {
	find / -xdev \( -path /src -o -path /out -o -path /proc -o -path /sys -o -path /dev \
		-o -path /tmp -o -path /run -o -path /var/cache -o -path /var/log \
		-o -path /var/lib/dpkg -o -path /var/lib/apt -o -path '*/__pycache__' \) -prune \
		-o -print | sort >/tmp/all
	cat /var/lib/dpkg/info/*.list | sort -u >/tmp/owned
	comm -23 /tmp/all /tmp/owned
}

apt update
apt dist-upgrade
# The dependencies of our packages stay when these are purged, so install them first.
install /out/first
apt install openmpi-bin mpich
purge
rm -rf /var/lib/tsctrace
# An ordinary user, for the tutorial
useradd --create-home visitor
echo 'visitor ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/visitor
unowned >/tmp/before

# --- an older version, in use ---------------------------------------------------------
install /out/old
echo "name packagetest" >>/etc/tsctrace/tsctraced.conf
mkdir -p /var/lib/tsctrace/{recording,history}
touch /var/lib/tsctrace/{rate,node,history/0,recording/metadata}
[ "$(dpkg-query -W -f '${Version}' tsctrace)" = "0.0.9$revision" ] || fail "0.0.9 is not installed"

# --- upgrade --------------------------------------------------------------------------
install /out/first
[ "$(dpkg-query -W -f '${Version}' tsctrace)" = "$version$revision" ] || fail "not upgraded"
grep -q '^name packagetest$' /etc/tsctrace/tsctraced.conf || fail "the configuration is lost"
[ -e /var/lib/tsctrace/recording/metadata ] || fail "a recording is lost"
# DKMS built it for the kernel whose headers are installed.
kernel=$(ls /lib/modules | sort -V | tail -n 1)
dkms status
[ "$(dkms status | grep tsctrace)" = "tsctrace/$version, $kernel, x86_64: installed" ] ||
	fail "DKMS: $(dkms status)"
module=$(echo "/lib/modules/$kernel/updates/dkms"/tsctrace.ko*)
[ "$(modinfo -F version "$module")" = "$version" ] || fail "modinfo $module"
[ ! -e /usr/src/tsctrace-0.0.9 ] || fail "the old source of the module is left"

# --- use ------------------------------------------------------------------------------
[ "$(trace-ctl --version)" = "trace-ctl $version" ] || fail "trace-ctl --version"
[ "$(stat -c %U /run/tsctrace)" = tsctrace ] || fail "/run/tsctrace"
tsctraced --check-config || fail "tsctraced --check-config"
trace-ctl record -q -o first -- trace-ctl emit hello count=3
trace-ctl dump first | grep 'hello.*3' || fail "trace-ctl dump"
trace-ctl stat first >/dev/null
# shellcheck disable=SC2046
gcc -o program /src/tests/packages/program.c $(pkg-config --cflags --libs tsctrace)
trace-ctl record -q -o second -- ./program
trace-ctl dump second | grep 'work.*4711' || fail "a program in C"
trace-ctl record -q -o third -- python3 -c 'import tsctrace; tsctrace.event("py", n=5)'
trace-ctl dump third | grep 'py.*5' || fail "a program in Python"
if [ -s /sys/kernel/btf/vmlinux ]; then
	trace-ctl record -q -a -e sched_switch -o kernel --duration 0.2
	trace-ctl dump kernel >/tmp/dump
	grep -q sched_switch /tmp/dump || fail "kernel events"
fi
for page in trace-ctl trace-ctl-record trace-ctl-merge-mpi trace-ctl-merge-mpi-mpich \
		3/tsct_emit 8/tsctraced 5/tsctraced.conf 7/tsctrace-mpi 4/tsctrace; do
	man -w ${page%/*} "${page##*/}" >/dev/null || fail "man ${page/\// }"
done
[ -s "$(echo /usr/lib/*/libtsctrace-mpi-openmpi.so)" ] || fail "no libtsctrace-mpi-openmpi.so"
for mpirun in "mpirun.openmpi --allow-run-as-root --oversubscribe" mpirun.mpich; do
	rm -rf by-ranks
	status=0
	$mpirun -n 2 trace-ctl-merge-mpi -q -o by-ranks first third >/tmp/merge 2>&1 || status=$?
	cat /tmp/merge
	# MPICH of Ubuntu 24.04 (4.2.0-5build3) makes each process a world of its own.
	[ $status = 0 ] || ! grep -q 'each is alone' /tmp/merge ||
		! grep -q '^VERSION_ID="24.04"' /etc/os-release || continue
	[ $status = 0 ] || fail "$mpirun"
	[ "$(trace-ctl dump by-ranks | grep -c 'hello.*3\|py.*5')" = 2 ] ||
		fail "$mpirun: $(trace-ctl dump by-ranks)"
done
setpriv --reuid=tsctrace --regid=tsctrace --clear-groups tsctraced --no-module \
	--state-dir /tmp 2>/tmp/daemon.log &
daemon=$!
trace-ctl clock --wait-synced=60 >/tmp/clock 2>&1 ||
	{ cat /tmp/daemon.log /tmp/clock; fail "tsctraced"; }

# --- the tutorial, as printed, without its installation ---------------------------------
{
	echo 'set -eux; mkdir tutorial; cd tutorial'
	awk '/^  \$ / { sub(/^  \$ /, ""); command = 1; print
			if (/<</) { while (getline > 0 && !/^  END/) print substr($0, 3); print "END" } }
		END { exit !command }' /src/Documentation/tutorial.rst | grep -v 'apt-get install'
} >/home/visitor/tutorial.sh
# Kernel events need a kernel with BTF, which may be missing where this runs.
[ -s /sys/kernel/btf/vmlinux ] || sed -i '/second/d' /home/visitor/tutorial.sh
(cd /home/visitor && setpriv --reuid=visitor --regid=visitor --init-groups \
	env HOME=/home/visitor bash tutorial.sh) || fail "the tutorial: see above"
[ "$(wc -l </home/visitor/tutorial/first.csv)" -gt 2000 ] || fail "the tutorial's first.csv"
kill $daemon
wait $daemon || fail "tsctraced: exit status $?"

# --- completion, by bash as a user has it -----------------------------------------------
cat >setup <<'END'
PS1='ready> '
. /usr/share/bash-completion/bash_completion
END
python3 /src/tests/native/terminal.py 120 40 /tmp/transcript \
	'ready> ' 'trace-ctl --vers\x15trace-ctl du\tfi\t >/tmp/completed\r' \
	'ready> ' 'trace-ctl record --outp\tfourth -- trace-ctl emit x\r' \
	'ready> ' 'exit\r' -- bash --noprofile --rcfile setup -i >/dev/null ||
	{ cat /tmp/transcript; fail "completion"; }
grep -q hello /tmp/completed && [ -e fourth/metadata ] || { cat /tmp/transcript; fail "completion"; }

# --- remove, purge ---------------------------------------------------------------------
apt remove tsctrace
[ -e /etc/tsctrace/tsctraced.conf ] || fail "remove deletes the configuration"
purge
unowned >/tmp/after
cat >/tmp/kept <<'END'
/var/lib/tsctrace
/var/lib/tsctrace/recording
/var/lib/tsctrace/recording/metadata
END
comm -13 /tmp/before /tmp/after | grep -v '^/root/\|^/home/' >/tmp/left || true
diff /tmp/kept /tmp/left || fail "purge leaves other files than recordings"
[ -e first/metadata ] && [ -e fourth/metadata ] || fail "purge deletes recordings"
echo "installed, used, upgraded and purged"
