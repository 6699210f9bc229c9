#!/bin/bash
# SPDX-License-Identifier: MIT
#
# deps.sh [--list | --browser | --debug-kernel | --fuzz | --newest | --packages |
#         --programs | --service] -
# install the packages that the build and the tests use
#
# On Debian 12 or newer and on Ubuntu, missing packages are installed with
# apt-get (as root, or with sudo). Elsewhere the list and the missing packages are
# printed, and the exit status is 1. Fast if nothing is missing.
# --debug-kernel adds the packages for the build of guest/debug_kernel.sh, --fuzz those
# for the fuzzer, --browser a browser for the pages, --newest those for a root
# with the newest kernel, --packages those for the test of packages, --programs programs of
# others, --service those for
# the container of the service test.
set -euo pipefail

# package | how its presence is detected | reason
# Of packages with a slash between them, the first available one is installed.
# Detection: a word that ends with a slash is a file below /usr/include, an absolute
# path is a file (* is a wildcard), NAME.pc is a pkg-config name, any other word a
# command.
table='
gcc                  | gcc                 | C compiler
g++                  | g++                 | the public headers compile as C++
gfortran             | gfortran            | the Fortran binding compiles and runs
make                 | make                | the build
libc6-dev            | stdlib.h/           | libc headers and the static libc of guest programs
pkg-config           | pkg-config          | flags of the libraries below
libjansson-dev       | jansson.pc          | --json of trace-ctl
libsystemd-dev       | libsystemd.pc       | journal and readiness of the daemon
libnl-genl-3-dev     | libnl-genl-3.0.pc   | news and queries of the module
libnl-route-3-dev    | libnl-route-3.0.pc  | link monitor of the daemon
nettle-dev           | nettle.pc           | MACs of packets between nodes
libbpf-dev           | libbpf.pc           | BPF event sources
libelf-dev           | libelf.pc           | libbpf needs it
libtraceevent-dev    | libtraceevent.pc    | formats of tracepoints
zlib1g-dev           | zlib.pc             | recordings on their way between nodes
libmicrohttpd-dev    | libmicrohttpd.pc    | page of live events
libdw-dev            | libdw.pc            | names of functions in stacks
libtracefs-dev       | libtracefs.pc       | tracepoints of the kernel
libopen-trace-format2-dev | otf2.pc        | OTF2 archives
libsqlite3-dev       | sqlite3.pc          | SQL over recordings
libbabeltrace2-dev   | babeltrace2.pc      | CTF traces of other tracers
clang                | clang               | compiles the BPF programs
bpftool/linux-tools-generic | bpftool      | makes their skeletons
check                | check.pc            | unit tests
strace               | strace              | clients that are traced
linux-perf/linux-tools-generic | perf      | counts of kernel events, to compare with
gdb                  | gdb                 | clients that are single-stepped
valgrind             | valgrind            | clients that are emulated
sparse               | sparse              | static check of the module
dwarves              | pahole              | BTF of the module, for BPF programs
kmod                 | modinfo             | module installation
binutils             | objcopy             | BTF out of a kernel image
qemu-system-x86      | qemu-system-x86_64  | runs the guests
busybox-static       | busybox             | shell and commands in a guest
cpio                 | cpio                | initrd of a guest
gzip                 | gzip                | the same
xz-utils             | xz                  | unpacks kernel images
zstd                 | zstd                | unpacks kernel images
util-linux           | flock               | one download of a kernel at a time
mount                | mount               | file systems in namespaces of tests
procps               | pgrep               | finds the process that a test stops
python3              | python3             | checks the output of --json
python3-dev          | /usr/include/python3*/Python.h | the Python module
python3-yaml         | /usr/lib/python3/dist-packages/yaml/__init__.py | reads the specification of netlink
mandoc               | mandoc              | checks the man pages
python3-sphinx       | sphinx-build        | the documentation as HTML
babeltrace2          | babeltrace2         | reads our recordings
babeltrace           | babeltrace          | reads our exports
otf2-tools           | otf2-print          | the same
python3-otf2         | /usr/lib/python3/dist-packages/otf2/__init__.py | the same
python3-six          | /usr/lib/python3/dist-packages/six.py | what python3-otf2 forgets to ask for
lttng-tools          | lttng               | another tracer: its sessions
liblttng-ust-dev     | lttng-ust.pc        | ... and its events
systemd              | /usr/lib/systemd/systemd-journald | entries of journald
python3-bt2          | /usr/lib/python3/dist-packages/bt2/__init__.py | the same
protobuf-compiler    | protoc              | the same
python3-protobuf     | /usr/lib/python3/dist-packages/google/protobuf/__init__.py | the same
sqlite3              | sqlite3             | a real program to trace; reads the databases of trace-ctl query
redis-tools          | redis-benchmark     | a server, which is in redis-check-rdb, and clients
openmpi-bin          | mpirun.openmpi      | ranks of a program that uses MPI
libopenmpi-dev       | /usr/lib/*/openmpi/include/mpi.h | libtsctrace-mpi for Open MPI
mpich                | mpirun.mpich        | ranks of a program that uses MPI
libmpich-dev         | /usr/include/*/mpich/mpi.h | libtsctrace-mpi for MPICH
curl                 | curl                | reads the page of live events
zsh                  | zsh                 | completion of command lines
fish                 | fish                | the same
reuse                | reuse               | the statements of licenses
abigail-tools        | abidiff             | ABI of the library, against the last release
iproute2             | ip                  | networks for daemons, in namespaces
'

for_debug_kernel='
flex                 | flex                | Kconfig
bison                | bison               | Kconfig
bc                   | bc                  | constants of the kernel
xz-utils             | xz                  | unpacks the source
libelf-dev           | libelf.pc           | objtool, resolve_btfids
zlib1g-dev           | zlib.h/             | resolve_btfids
libssl-dev           | openssl/ssl.h/      | tools of the kernel
'

# Older Debian releases have libFuzzer in libclang-common-14-dev.
for_fuzz='
libclang-rt-dev/libclang-common-14-dev | /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a | libFuzzer
'

for_newest='
mmdebstrap           | mmdebstrap          | a root with Debian sid
debian-archive-keyring | /usr/share/keyrings/debian-archive-keyring.gpg | its signatures
'

for_packages='
mmdebstrap           | mmdebstrap          | roots of Debian
debian-archive-keyring | /usr/share/keyrings/debian-archive-keyring.gpg | their signatures
dkms                 | dkms                | builds the module for installed kernels
'

for_programs='
nginx-light/nginx    | nginx               | a server with several processes
postgresql           | /usr/lib/postgresql/*/bin/postgres | a server with many processes
golang-go            | go                  | a program with goroutines
musl-tools           | musl-gcc            | a program with another C library
'

for_service='
mmdebstrap           | mmdebstrap          | a Debian for a container
'

for_browser='
chromium             | chromium            | draws the pages of report and of cluster live
'

say() { echo "deps.sh: $*" >&2; }
rows() { grep '|' <<<"$table"; }

has() {
	case $1 in
	*.pc) pkg-config --exists "${1%.pc}" 2>/dev/null ;;
	*/) [ -e "/usr/include/${1%/}" ] ;;
	/*) compgen -G "$1" >/dev/null ;;
	# That of Ubuntu 24.04 in /usr/sbin is a script, which needs linux-tools-generic.
	bpftool) compgen -G '/usr/lib/linux-tools/*/bpftool' >/dev/null ||
		PATH=$PATH:/usr/sbin bpftool version >/dev/null 2>&1 ;;
	*) command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] ;;
	esac
}

missing() {
	local package brings
	while IFS='|' read -r package brings _; do
		package=${package// } brings=${brings// }
		has "$brings" || echo "$package"
	done < <(rows)
}

# ID_LIKE covers derived distributions.
can_install() {
	command -v apt-get >/dev/null && [ -r /etc/os-release ] || return 1
	(
		. /etc/os-release
		case $ID in
		debian) [ "${VERSION_ID:-99}" -ge 12 ] ;;
		ubuntu) true ;;
		*) [[ " ${ID_LIKE:-} " == *" debian "* ]] ;;
		esac
	)
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	elif command -v sudo >/dev/null; then
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	else
		say "run this as root: apt-get install ${packages[*]}"
		exit 1
	fi
}

offered() {
	local name
	for name in ${1//\// }; do
		[[ $(apt-cache policy "$name") != *"Candidate: "[^\(]* ]] || break
	done
	echo "$name"
}

install_packages() {
	local package names=()
	say "reading the package lists (apt-get update)"
	as_root apt-get -qq update
	for package in "${packages[@]}"; do
		names+=("$(offered "$package")")
	done
	say "installing ${names[*]}"
	as_root apt-get -qq -y --no-install-recommends install "${names[@]}"
}

[ "${1:-}" != --debug-kernel ] || table+=$for_debug_kernel
[ "${1:-}" != --newest ] || table+=$for_newest
[ "${1:-}" != --packages ] || table+=$for_packages
[ "${1:-}" != --programs ] || table+=$for_programs
[ "${1:-}" != --service ] || table+=$for_service
[ "${1:-}" != --fuzz ] || table+=$for_fuzz
[ "${1:-}" != --browser ] || table+=$for_browser
if [ "${1:-}" = --list ]; then
	rows
	exit
fi
mapfile -t packages < <(missing)
[ ${#packages[@]} -gt 0 ] || exit 0
if ! can_install; then
	say "this system is neither Debian 12 or newer nor Ubuntu; please install"
	say "the contents of these packages (package | looked for | reason):"
	rows >&2
	say "missing: ${packages[*]}"
	exit 1
fi
install_packages
mapfile -t packages < <(missing)
if [ ${#packages[@]} -gt 0 ]; then
	say "installed, but still not found: ${packages[*]}"
	exit 1
fi
