#!/bin/sh
# SPDX-License-Identifier: MIT
# Every command has a man page that names each of its options, and the same help for -h
# and --help; every page passes the formatter without an error.
# test-fast: yes
set -eu
cd "$(dirname "$0")/../.."
O=${O:-build}
man=Documentation/man
fail=0
say() {
	echo "$*"
	fail=1
}

# PAGE COMMAND...: each --option of `COMMAND --help` stands in PAGE
check_options() {
	page=$1
	shift
	[ -f "$page" ] || { say "$page is missing"; return; }
	help=$("$@" --help) && [ "$help" ] && [ "$("$@" -h)" = "$help" ] ||
		say "$*: --help fails, or -h prints something else"
	for option in $(echo "$help" |
		grep -o '^ *\(-[A-Za-z?], *\)\?--[a-z][a-z-]*' | sed 's/.*--//'); do
		case $option in
		help | usage | version) continue ;;
		esac
		# mdoc pages have a long option as ".Fl -option" or ".Fl o , -option".
		grep -q -- "\( -\|--\)$option\b" "$page" ||
			say "$page does not name --$option"
	done
}

commands=$("$O/tools/trace-ctl" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || say "trace-ctl help lists no command"
n=0
for command in $commands; do
	n=$((n + 1))
	[ "$command" != help ] || continue
	check_options "$man/trace-ctl-$command.1" "$O/tools/trace-ctl" "$command"
	grep -q "trace-ctl-$command\|Ic $command\|Cm $command" "$man/trace-ctl.1" ||
		say "$man/trace-ctl.1 does not name $command"
done
check_options "$man/tsctraced.8" "$O/daemon/tsctraced"
# The program with MPI has the options of this command.
check_options "$man/trace-ctl-merge-mpi.1" "$O/tools/trace-ctl" merge
check_options "$man/trace-ctl.1" "$O/tools/trace-ctl"

for page in "$man"/*.[0-9]; do
	head -n 1 "$page" | grep -q SPDX || say "$page: no licence line"
	[ -s "$page" ] || say "$page is empty"
	# A page of one line ".so man3/TARGET" shows the page TARGET. That path is of
	# the installed pages; the sources of all pages are in $man.
	target=$(sed -n 's|^\.so man[0-9]/||p' "$page")
	mandoc -Tlint -W error "${target:+$man/}${target:-$page}" >/dev/null 2>&1 ||
		say "$page: $(mandoc -Tlint -W error "$page" 2>&1 | head -n 1)"
done
echo "$n commands"
exit $fail
