#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ntp.sh chrony | ntpsec - print the NTP daemon of that Debian package
#
# The package is downloaded and unpacked below ${XDG_CACHE_HOME:-~/.cache}/tsctrace/ntp,
# with missing libraries, but never installed: an installed daemon would take over this
# machine's clock. Prints the path of a command that runs the daemon from there. In the
# same directory, `chronyc` is the client of chrony.
#
# Exit status: 0 done, 1 failed, 2 usage, 3 not in this machine's package sources
set -euo pipefail

case ${1:-} in
chrony) programs=(usr/sbin/chronyd usr/bin/chronyc) ;;
ntpsec) programs=(usr/sbin/ntpd) ;;
*) echo "usage: ntp.sh chrony | ntpsec" >&2; exit 2 ;;
esac
package=$1
cache=${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME}/.cache}/tsctrace/ntp
temp=
say() { echo "ntp.sh: $*" >&2; }
die() { say "$1"; exit "${2:-1}"; }
trap '[ -z "$temp" ] || rm -rf "$temp"' EXIT

offered() { [[ $(apt-cache policy "$1" 2>/dev/null) == *"Candidate: "[^\(]* ]]; }

fetch() {	# PACKAGE...: unpacks the packages' files to $temp/new
	local deb
	rm -f "$temp"/*.deb
	(cd "$temp" && apt-get -q -o APT::Sandbox::User=root download "$@") \
		>"$temp/apt.log" 2>&1 || return 1
	for deb in "$temp"/*.deb; do
		dpkg-deb -x "$deb" "$temp/new"
	done
}

update_lists() {
	[ "$(id -u)" -eq 0 ] || return 1
	say "reading the package lists (apt-get update)"
	apt-get -qq update >&2
}

# True if a program of the unpacked package ($programs) needs a library that is missing. grep
# reads all of its input: with `pipefail`, a SIGPIPE of ldd would count as "none missing".
missing() {
	LD_LIBRARY_PATH=$temp/new/usr/lib/x86_64-linux-gnu:$temp/new/lib/x86_64-linux-gnu \
		ldd "${programs[@]/#/$temp/new/}" | grep 'not found' >/dev/null
}

dependencies() {
	apt-cache depends --no-recommends --no-suggests --no-conflicts \
		--no-breaks --no-replaces --no-enhances "$package" |
	sed -n 's/^ *Depends: \(lib[^ ]*\)$/\1/p'
}

# DIR CACHED: writes a script per program to DIR, which runs the program from the directory
# CACHED, with the libraries that were unpacked to CACHED
wrap() {
	local program script
	for program in "${programs[@]}"; do
		script=$1/${program##*/}
		cat >"$script" <<-END
		#!/bin/sh
		lib=$2/usr/lib/x86_64-linux-gnu:$2/lib/x86_64-linux-gnu
		LD_LIBRARY_PATH=\$lib exec $2/$program "\$@"
		END
		chmod 755 "$script"
	done
}

# True if the cache has a script, as wrap() writes it, that runs each program of the
# Debian package $package.
cached() {
	local program
	for program in "${programs[@]}"; do
		[ -x "$cache/$package/${program##*/}" ] || return
	done
}

command -v apt-get >/dev/null || die "$package: apt-get not found" 3
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if ! cached; then
	temp=$(mktemp -d "$cache/.new.XXXXXX")
	mkdir "$temp/new"
	offered "$package" || update_lists || true
	offered "$package" ||
		die "the package sources of this machine do not offer $package" 3
	say "fetching $package"
	# Outdated package lists name removed files: update the lists.
	fetch "$package" || { update_lists && fetch "$package"; } ||
		die "cannot download $package: $(tail -n 1 "$temp/apt.log")"
	if missing; then
		mapfile -t libraries < <(dependencies)
		fetch "${libraries[@]}" ||
			die "cannot download what $package needs"
		! missing || die "$package: libraries are missing"
	fi
	wrap "$temp/new" "$cache/$package"
	rm -rf "${cache:?}/$package"
	mv "$temp/new" "$cache/$package"
fi
echo "$cache/$package/${programs[0]##*/}"
