#!/bin/bash
# SPDX-License-Identifier: MIT
# Wings (tools/wings/, lib/mpi, lib/python): without each of them in turn, and without all of
# them (CORE=1), the rest builds, and the core's commands work. A copy of the sources and of the
# build is changed; only what depends on the wing is built again.
# test-timeout: 900
# test-wing: all
. "$(dirname "$0")/record.sh"

copy=$work/tree
mkdir -p "$copy/build/tests"
(cd "$top" && tar c --exclude=./build --exclude=./.git --exclude=./tests .) | tar xp -C "$copy"
for part in lib daemon tools gen python Documentation; do
	[ ! -e "$out/$part" ] || cp -a "$out/$part" "$copy/build/"
done
ln -s "$here" "$copy/build/tests/scripts"
ln -s "$helpers" "$copy/build/tests/native"

# Records, reads and merges with the copy's trace-ctl. $1: what it was built without
core_works() {
	ctl=$copy/build/tools/trace-ctl
	rm -rf "$work/a" "$work/b" "$work/m"
	run 0 record -q -o "$work/a" -- "$emit" 300 2
	run 0 record -q -o "$work/b" -- "$emit" 200 1
	run 0 dump -n 5 "$work/a"
	[ "$(wc -l <"$work/out")" = 5 ] || fail "without $1: dump"
	run 0 stat "$work/a"
	run 0 merge -q -o "$work/m" "$work/a" "$work/b"
	run_shows 0 '"nodes"' stat --json "$work/m"
}

# What a user gets who asks for a part that is not there: one sentence with its name
missing() {
	"$ctl" "${@:2}" >"$work/out" 2>"$work/err" && fail "$*: worked without the wing"
	grep -q "built without tools/wings/$1\|no such command" "$work/err" ||
		fail "$*: $(cat "$work/err")"
}

build() {
	(cd "$copy" && make O="$copy/build" "$@") >"$work/log" 2>&1 ||
		fail "make $*: $(tail -5 "$work/log")"
}

without() {
	local name=${1##*/}

	mv "$copy/$1" "$work/removed"
	build lib daemon tools python
	core_works "$1"
	case $name in
	strace) missing strace dump --strace "$work/a" ;;
	otf2) missing otf2 merge -o "$work/x.otf2" "$work/a" "$work/b" ;;
	formats) missing formats export "$work/a" ;;
	ctf)
		mkdir -p "$work/ctf"
		printf '/* CTF 1.8 */\ntrace { major = 1; minor = 8; };\n' >"$work/ctf/metadata"
		run_says 1 'not a tsctrace recording.*tools/wings/ctf' merge -o "$work/x" "$work/ctf"
		;;
	report) missing report report "$work/a" ;;
	stacks) missing stacks record -e sched --stack -o "$work/x" -- true ;;
	kernel) missing kernel record -e sched -o "$work/x" -- true ;;
	threads)
		run_shows 0 'threads and system calls: .* built without tools/wings/threads' stat "$work/a"
		;;
	previous) missing previous snapshot --previous-boot -o "$work/x" ;;
	probes) missing probes record -e kprobe:do_exit -o "$work/x" -- true ;;
	esac
	mv "$work/removed" "$copy/$1"
	ok "without $1"
}

wings=("$copy"/tools/wings/*/ "$copy/lib/mpi/" "$copy/lib/python/" "$copy"/daemon/{collective,exchanges,metrics}/)
echo "1..$((${#wings[@]} + 1))"
for wing in "${wings[@]}"; do
	wing=${wing#"$copy"/}
	without "${wing%/}"
done
build CORE=1 lib daemon tools
core_works "any wing"
[ "$("$ctl" help | grep -c '^  [a-z]')" = 12 ] || fail "commands of the core: $("$ctl" help)"
ok "without any wing"
