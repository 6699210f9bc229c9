#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [OPTION]... [KERNEL]... - run the tests that need the kernel module
#
# Builds the module for each KERNEL (a name of `kernel.sh list`, or another
# argument of `kernel.sh get`; default: the whole list), boots it in QEMU with
# the tests in an initrd, and prints TAP. Exit status 0: all passed.
#
#   --test GLOB     only tests with this name (t_mmap, 't_*')
#   --only NAME     only boots with this name (default, unstable, big,
#                   reserved, panic)
#   --list          print the tests and their requirements
#   --time SECONDS  time limit of each test, in place of its own
#   --out FILE      file for the data that tests pass to `out`: see boot.sh
#   --plan DIR      build everything and write to DIR what --boot needs; print the results of
#                   the builds only. DIR/boots has a line "NUMBER LABEL CPUS LIMIT" for each
#                   boot: the host CPUs that it uses, and its time limit in seconds
#   --boot DIR N    boot number N of such a plan, and print its results
#
# With TSCT_TIER=all, each kernel runs all tests, with the large numbers of repeats; without
# it, kernels with PREEMPT_RT (named *-rt-*) run those that have rt=yes, and of the boots
# `default` and `unstable` the first.
#
# The whole console, the raw results and the logs of the builds are left in
# build/guest/<release>/.
#
# A test is one file here, t_NAME.c or t_NAME.sh. Exit status 0 is a pass; 77 a
# skip, with the reason as last line of output; all else a failure, for which the
# output is shown. A test also fails if the kernel log has a warning, if the
# module cannot be unloaded after it, and at its time limit. t_NAME.c is linked
# statically with libtsctrace.a and may include "t.h"; t_NAME.sh runs in busybox's
# shell. Both run as root and start in /tmp. $TSCT_BOOT is the name of the boot,
# $TSCT_SLOW the factor for their own times (3; 12 on kernels with checkers).
# TSCT_MODULE=FILE is loaded instead of the tsctrace.ko that is built here.
# Requirements are in a comment, on lines of this form (with the defaults):
#
#   guest-test: timeout=40    seconds on an idle machine; the limit is at least 300 s, and this
#                             times $TSCT_SLOW
#   guest-test: boot=default  comma list: `default` has a trusted TSC; in
#                             `unstable` the kernel marks the TSC unstable;
#                             `big` has 64 CPUs, isolcpus=2 nohz_full=3, reserved
#                             memory, and VM Generation ID: a test is saved and
#                             restored at its request (boot.sh); `reserved` has
#                             reserved memory; `panic` has that, too, starts again
#                             after a panic, and has memory of the host for `out`
#   guest-test: smp=2         CPUs; `2of255`: 2 of 255 possible ones
#   guest-test: parallel=no   `yes` if CPUs must really run at the same time;
#                             not for tests in which the kernel patches its code
#                             (BPF, tracepoints): see --parallel in boot.sh
#   guest-test: rt=no         `yes` if PREEMPT_RT can change the result
#   guest-test: module=yes    loaded before and unloaded after; `no`: the test
#                             does that itself with /lib/modules/tsctrace.ko,
#                             tsctrace-nobtf.ko (the same without BTF),
#                             tsctrace-unreserved.ko (without reserved memory) or
#                             tsctrace-cover.ko (its coverage is recorded by
#                             tsct-cover.ko).
#                             /lib/modules also has modules that call it,
#                             tsctrace-sample.ko and tsct-nest.ko,
#                             tsct-ring.ko, which tests the ring writer,
#                             tsct-vmfork.ko, which reports a restore of the
#                             virtual machine, tsct-aux.ko (sets TSC_AUX),
#                             tsct-present.ko (removes and adds a CPU),
#                             tsct-fault.ko (emits an invalid payload),
#                             tsct-fuzz.ko (calls of the fuzzer), tsct-panic.ko, tsct-old.ko
#                             (a module of an earlier release), and the
#                             kernel's veth.ko, if there is one
#   guest-test: needs=        `btf`: skipped if the module has no BTF
#   guest-test: files=        comma list of additional files, relative to the
#                             top of the source tree, absolute, or from $PATH
#                             (no slash); copied to the same path, those of
#                             build/ to /usr/bin
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$(realpath -m "${O:-$top/build}")
# This make is no sub-make of the calling make, and does not take over its flags.
unset MAKEFLAGS MFLAGS MAKELEVEL

die() { echo "run.sh: $*" >&2; exit 2; }

only_test='*' only_boot='*' list='' seconds='' shared='' plan_dir='' number=''
kernels=()
while [ $# -gt 0 ]; do
	case $1 in
	--test|--only|--time|--out|--plan) [ $# -ge 2 ] || die "$1 needs a value" ;;
	--boot) [ $# -ge 3 ] || die "--boot needs a directory and a number" ;;
	esac
	case $1 in
	--test) only_test=$2; shift 2 ;;
	--only) only_boot=$2; shift 2 ;;
	--list) list=1; shift ;;
	--time) seconds=$2; shift 2 ;;
	--out) shared=$2; shift 2 ;;
	--plan) plan_dir=$2; shift 2 ;;
	--boot) plan_dir=$2 number=$3; shift 3 ;;
	-*) die "unknown option $1" ;;
	*) kernels+=("$1"); shift ;;
	esac
done
[ ${#kernels[@]} -gt 0 ] || mapfile -t kernels < <("$here/kernel.sh" list)

if [ -n "$plan_dir" ]; then
	[ -n "$number" ] || rm -rf "$plan_dir"
	mkdir -p "$plan_dir"
	work=$(realpath "$plan_dir")
else
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
fi

# --- TAP --------------------------------------------------------------------

nr=0 failed=0
result() {	# ok|"not ok" TEXT
	nr=$((nr + 1))
	[ "$1" = ok ] || failed=$((failed + 1))
	echo "$1 $nr - $2"
}
comment() { sed 's/^/#  /'; }

# --- requirements of the tests ----------------------------------------------

declare -A timeout boots smp parallel module needs files rt
tests=()

set_default() {
	timeout[$1]=40 boots[$1]=default smp[$1]=2 parallel[$1]=no
	module[$1]=yes needs[$1]='' files[$1]='' rt[$1]=no
}

set_key() {	# TEST KEY VALUE
	case $2=$3 in
	timeout=[1-9]*) timeout[$1]=$3 ;;
	boot=default|boot=unstable) boots[$1]=$3 ;;
	boot=big) boots[$1]=$3 smp[$1]=64 ;;
	boot=panic|boot=reserved) boots[$1]=$3 ;;
	boot=default,unstable|boot=unstable,default) boots[$1]=$3 ;;
	smp=[1-9]|smp=[1-9][0-9]|smp=[1-9]of[1-9][0-9][0-9]) smp[$1]=$3 ;;
	parallel=yes|parallel=no) parallel[$1]=$3 ;;
	module=yes|module=no) module[$1]=$3 ;;
	rt=yes|rt=no) rt[$1]=$3 ;;
	needs=btf) needs[$1]=$3 ;;
	files=?*) files[$1]=${files[$1]:+${files[$1]},}$3 ;;
	*) die "$1: guest-test: $2=$3: invalid key or value" ;;
	esac
}

read_tests() {
	local file name word
	for file in "$here"/t_*.c "$here"/t_*.sh; do
		[ -e "$file" ] || continue
		name=$(basename "${file%.*}")
		# shellcheck disable=SC2053
		[[ $name == $only_test ]] || continue
		[ -z "${timeout[$name]:-}" ] || die "two tests are named $name"
		tests+=("$name")
		set_default "$name"
		for word in $(sed -n 's/.*guest-test: *//p' "$file"); do
			[[ $word == *=* ]] || die "$name: guest-test: $word: not KEY=VALUE"
			set_key "$name" "${word%%=*}" "${word#*=}"
		done
	done
	[ ${#tests[@]} -gt 0 ] || die "no test is named $only_test"
}

print_tests() {
	local name
	for name in "${tests[@]}"; do
		echo "$name timeout=${timeout[$name]} boot=${boots[$name]}" \
			"smp=${smp[$name]} parallel=${parallel[$name]}" \
			"module=${module[$name]} rt=${rt[$name]} needs=${needs[$name]}" \
			"files=${files[$name]}"
	done
}

# Tests that can share a boot are a group, named BOOT.CPUS[.parallel]: "default.2",
# "unstable.2", "default.1", "default.2.parallel"
groups_of() {	# TEST
	local boot suffix=''
	[ "${parallel[$1]}" = no ] || suffix=.parallel
	for boot in ${boots[$1]//,/ }; do
		# shellcheck disable=SC2053
		[[ $boot != $only_boot ]] || echo "$boot.${smp[$1]}$suffix"
	done
}

list_groups() {
	local name
	for name in "${tests[@]}"; do groups_of "$name"; done | sort -u
}

in_group() {	# TEST GROUP
	[[ $'\n'$(groups_of "$1")$'\n' == *$'\n'"$2"$'\n'* ]]
}

# --- initrds ----------------------------------------------------------------

# One initrd for all boots; each appends its plan and module as a second, small
# archive.
missing_files=
base_initrd() {
	local name file specs=()
	for name in "${tests[@]}"; do
		for file in ${files[$name]//,/ }; do
			case $file in
			build/*) specs+=("$out/${file#build/}=/usr/bin/${file##*/}") ;;
			/*) specs+=("$file=$file") ;;
			*/*) specs+=("$top/$file=/$file") ;;
			*) specs+=("$(type -P "$file" || echo "/missing/$file")=/usr/bin/$file") ;;
			esac
			[ -e "${specs[-1]%%=*}" ] && continue
			missing_files+="$name $file: not found (run make all)"$'\n'
			unset 'specs[-1]'
		done
		file=$out/tests/guest/$name
		[ -f "$here/$name.c" ] || file=$here/$name.sh
		specs+=("$file=/tests/$name")
	done
	"$here/mkinitrd.sh" "$work/base" "$out/tests/guest/init=/init" \
		"$out/tests/guest/out=/usr/bin/out" "${specs[@]}"
}

# Factor on time limits, which are for an idle machine: this one may be busy, and a
# kernel with checkers is slower.
time_factor() {	# DIR
	if grep -qE '^CONFIG_(KASAN|KCSAN|PROVE_LOCKING)=y' \
			"$1/build/include/config/auto.conf"; then
		echo 12
	else
		echo 3
	fi
}

write_plan() {	# GROUP RELEASE FACTOR TEST...
	local name flags command limit
	echo "env TSCT_BOOT=${1%%.*}"
	echo "env TSCT_RELEASE=$2"
	echo "env TSCT_SLOW=$3"
	[ -z "${SEED:-}" ] || echo "env SEED=$SEED"
	# TSCT_TIER, and numbers of repeats; not TSCT_MODULE, a file of this machine
	for name in "${!TSCT_@}"; do
		[ "$name" = TSCT_MODULE ] || [ -z "${!name}" ] || echo "env $name=${!name}"
	done
	echo "module /lib/modules/tsctrace.ko"
	for name in "${@:4}"; do
		flags=-
		[ "${module[$name]}" = no ] || flags=module
		[ -f "$here/$name.sh" ] && command="sh /tests/$name" ||
			command=/tests/$name
		limit=$((timeout[$name] * $3))
		[ $limit -ge 300 ] || limit=300	# detects a hang, and nothing else
		echo "test $name ${seconds:-$limit} $flags $command"
	done
}

small_initrd() {	# PLAN MODULE DIR
	local root=$1.root module
	mkdir -p "$root/tests" "$root/usr/lib/modules"
	cp "$1" "$root/tests/plan"
	strip --strip-debug -o "$root/usr/lib/modules/tsctrace.ko" "${TSCT_MODULE:-$2}"
	objcopy --remove-section .BTF "$root/usr/lib/modules/tsctrace.ko" \
		"$root/usr/lib/modules/tsctrace-nobtf.ko"
	objcopy --redefine-sym __sanitizer_cov_trace_pc=tsct_cover_pc \
		"$root/usr/lib/modules/tsctrace.ko" \
		"$root/usr/lib/modules/tsctrace-cover.ko"
	strip --strip-debug -o "$root/usr/lib/modules/tsctrace-unreserved.ko" \
		"${2%.ko}-unreserved.ko"
	# Modules that call tsctrace.ko, for the tests that load them
	for module in "${2%/*}"/samples/*.ko; do
		strip --strip-debug -o "$root/usr/lib/modules/${module##*/}" \
			"$module"
	done
	[ ! -e "$3/drivers/veth.ko" ] ||
		cp "$3/drivers/veth.ko" "$root/usr/lib/modules"
	(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0)
	rm -rf "$root"
}

# --- one kernel -------------------------------------------------------------

# Prints the warnings in the build log $1, except the warning that a kernel tree without
# built modules causes (Module.symvers is missing).
warnings() { grep -i 'warning:' "$1" | grep -v 'Module.symvers is missing'; }

# AT STEP DIR TARGET...: builds the targets for the kernel in DIR. AT is a path:
# writes the log AT.STEP.log and the exit status AT.STEP.
make_step() {
	local status=0 cover=()
	! grep -qs '^CONFIG_KCOV=y' "$3/build/.config" || cover=(COVER=1)
	make -C "$top/kmod" KDIR="$3/build" WERROR=-Werror O="$out" \
		-j"$(nproc)" "${cover[@]}" "${@:4}" >"$1.$2.log" 2>&1 || status=$?
	echo "$status" >"$1.$2"
	return "$status"
}

# True if this tier checks the module with sparse for kernel $1: the headers of PREEMPT_RT
# change nothing that sparse sees.
runs_sparse() { [ "${TSCT_TIER:-}" = all ] || [[ $1 != *-rt-* ]]; }

# AT NAME: fetches kernel NAME and builds the modules for it, up to the first step that
# fails. AT is a path: the exit status of step STEP is stored in the file AT.STEP.
make_kernel() {	# AT NAME
	local dir status=0
	dir=$("$here/kernel.sh" get "$2" 2>"$1.why") || status=$?
	echo "$dir" >"$1.dir"
	echo "$status" >"$1.get"
	[ "$status" -eq 0 ] || return 0
	# Two kernel names may mean the same release. The lock makes their builds take
	# turns, because each release is built in one directory.
	exec 9>"$work/lock.$(basename "$(cat "$dir/release")")"
	flock 9
	make_step "$1" module "$dir" &&
		make_step "$1" samples "$dir" samples &&
		make_step "$1" unreserved "$dir" CONFIG_TSCTRACE_RESERVED=n &&
		{ ! runs_sparse "$2" || make_step "$1" sparse "$dir" sparse || true; }
}

# Most steps use one CPU only, so as many kernels as CPUs are built at a time.
make_kernels() {
	local i
	for i in "${!kernels[@]}"; do
		while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do
			wait -n || true
		done
		make_kernel "$work/kernel.$i" "${kernels[$i]}" &
	done
	wait
}

was_built() {	# NAME DIR LOG AT STEP WORDS...
	local name=$1 dir=$2 log=$3 words="module${6:+ $6} builds"
	cp "$4.$5.log" "$log"
	if [ "$(cat "$4.$5")" -ne 0 ]; then
		result "not ok" "$name $words"
		tail -n 30 "$log" | comment
		return 1
	fi
	if warnings "$log" >/dev/null; then
		result "not ok" "$name $words without warning"
		warnings "$log" | comment
		# Deletes the built modules, so that the next build warns again.
		rm -rf "$out/module/$(cat "$dir/release")"
		return 1
	fi
	result ok "$name $words without warning (W=1)"
}

was_sparse_clean() {	# NAME LOG AT
	cp "$3.sparse.log" "$2"
	if [ "$(cat "$3.sparse")" -eq 0 ]; then
		result ok "$1 module is sparse clean"
	else
		result "not ok" "$1 module is sparse clean"
		tail -n 30 "$2" | comment
	fi
}

# True if the kernel named $1 runs test $2 in this tier, or in its boot group $3: PREEMPT_RT
# changes nothing about the clock's source, so one of two boots with other sources will do.
in_tier() {
	[ "${TSCT_TIER:-}" = all ] || [[ $1 != *-rt-* ]] || [ "$only_test" != '*' ] ||
		{ [ "${rt[$2]}" = yes ] && [[ ${3:-} != unstable.* || ${boots[$2]} != *default* ]]; }
}

# Says how many tests this tier leaves out on kernel $1.
count_left_out() {
	local name left=0
	for name in "${tests[@]}"; do in_tier "$1" "$name" || left=$((left + 1)); done
	[ "$left" -eq 0 ] ||
		echo "# $1: $left of ${#tests[@]} tests left out (not rt=yes); TSCT_TIER=all runs them"
}

# Sets `planned` to the tests of a group that can run; reports the others.
plan_group() {	# LABEL GROUP MODULE
	local name file
	planned=()
	for name in "${tests[@]}"; do
		in_group "$name" "$2" && in_tier "${1%/*}" "$name" "$2" || continue
		file=$(sed -n "s/^$name //p" <<<"$missing_files" | head -n 1)
		if [ -n "$file" ]; then
			result "not ok" "$1 $name # $file"
		elif [ "${needs[$name]}" = btf ] && ! has_btf "$3"; then
			result ok "$1 $name # SKIP the module has no BTF: $(
				grep -o 'built without BTF.*' "$logs/module.log" ||
				echo "see the log of its build")"
		else
			planned+=("$name")
		fi
	done
}

# Not a pipe: grep ends at its match, and readelf would fail when it writes the rest.
has_btf() { grep -q ' \.BTF ' < <(readelf -SW "$1"); }

# Planned boots: the same index in each array is one boot.
boot_label=() boot_group=() boot_dir=() boot_module=() boot_log=() boot_tests=()
plan_boot() {	# LABEL GROUP DIR MODULE LOG TEST...
	boot_label+=("$1") boot_group+=("$2") boot_dir+=("$3")
	boot_module+=("$4") boot_log+=("$5") boot_tests+=("${*:6}")
}

# A kernel that dies before the first test has not loaded the module (see --parallel
# in boot.sh): boot it again.
boot_guest() {	# CONSOLE ARG...
	local console=$1 tries=3
	while [ $((tries--)) -gt 0 ]; do
		: >"$console"
		"$here/boot.sh" --console "$console" "${@:2}" 2>&1 || true
		! grep -q ' test: ' "$console" || break
		echo "# the kernel died during boot:"
		tail -n 40 "$console" | tr -d '\r' | comment
	done
}

# Prints for how many seconds a guest may write nothing on the console: each test writes a
# line when it begins.
silence_limit() {	# INDEX FACTOR
	local name limit=0 longest=0
	for name in ${boot_tests[$1]}; do
		limit=${seconds:-$((timeout[$name] * $2))}
		[ "$limit" -le "$longest" ] || longest=$limit
	done
	[ "$longest" -ge 300 ] || longest=300
	echo $((longest + 100 * $2))
}

# Prints the time limit of a boot in seconds.
boot_limit() {	# INDEX
	local limit=360 name
	for name in ${boot_tests[$1]}; do
		limit=$((limit + ${seconds:-timeout[$name]} + 15))
	done
	[[ ${boot_group[$1]} != panic.* ]] || limit=$((limit + ${TSCT_PANICS:-2} * 40))
	echo $((limit * $(time_factor "${boot_dir[$1]}")))
}

boot() {	# INDEX
	local dir=${boot_dir[$1]} group=${boot_group[$1]} log=${boot_log[$1]}
	local plan=$work/plan.$1 factor options=()
	factor=$(time_factor "$dir")
	write_plan "$group" "$(cat "$dir/release")" "$factor" \
		${boot_tests[$1]} >"$plan"
	{
		cat "$work/base"
		small_initrd "$plan" "${boot_module[$1]}" "$dir"
	} >"$plan.initrd"
	[ -z "$shared" ] || options+=(--out "$shared")
	[[ $group != unstable.* ]] || options+=(--no-tsc-reliable --unpacked)
	[[ $group != big.* ]] || options+=(--restore
		--append "isolcpus=2 nohz_full=3 reserve_mem=16M:4096:tsctrace")
	[[ $group != panic.* ]] || options+=(--reboot --out "$log.out" --out-mb 1
		--append "reserve_mem=32M:4096:tsctrace nokaslr")
	[[ $group != reserved.* ]] || options+=(--append "reserve_mem=16M:4096:tsctrace")
	[[ $group != *.parallel ]] || options+=(--parallel --unpacked)
	[[ $group =~ ^[a-z]+\.([^.]+) ]]
	boot_guest "$log.console" --smp "${BASH_REMATCH[1]/of/,maxcpus=}" \
		--time "$(boot_limit "$1")" --silent "$(silence_limit "$1" "$factor")" \
		"${options[@]}" "$dir" \
		"$plan.initrd" >"$log.tap"
	rm -f "$plan.initrd"
}

# Reports the guest's results, renumbered, with the names of kernel and boot.
take_results() {	# INDEX
	local label=${boot_label[$1]} log=${boot_log[$1]} line name ended=
	local missing=(${boot_tests[$1]})
	while IFS= read -r line; do
		case $line in
		"ok "*|"not ok "*)
			result "${line%%ok *}ok" "$label ${line#*ok * - }"
			missing=("${missing[@]:1}") ;;
		"# guest: end"*) ended=1 ;;
		1..*) ;;
		*) echo "$line" ;;
		esac
	done <"$log.tap"
	[ -z "$ended" ] || return 0
	# The guest died or was killed: unreported tests have failed.
	result "not ok" "$label the guest powers off"
	for name in "${missing[@]}"; do
		result "not ok" "$label $name # the guest ended before this test's result"
	done
	echo "#  the console since the last test began:"
	tr -d '\r' <"$log.console" | awk '
		/ test: / { n = 0 } { line[n++] = $0 }
		END { for (i = 0; i < n && i < 100; i++) print line[i] }' |
		comment
}

declare -A running=()	# index of the running boot by PID
reap() {
	local pid=''
	wait -n -p pid "${!running[@]}" || true
	if [ -z "${pid:-}" ]; then	# the process ended before the wait
		for pid in "${!running[@]}"; do
			kill -0 "$pid" 2>/dev/null || break
		done
		wait "$pid" || true
	fi
	take_results "${running[$pid]}"
	unset "running[$pid]"
}

boot_all() {	# WIDTH GLOB: boots the groups that match, WIDTH at a time
	local i
	for i in "${!boot_group[@]}"; do
		# shellcheck disable=SC2053
		[[ ${boot_group[$i]} == $2 ]] || continue
		[ ${#running[@]} -lt "$1" ] || reap
		boot "$i" &
		running[$!]=$i
	done
	while [ ${#running[@]} -gt 0 ]; do reap; done
}

plan_kernel() {	# NAME AT: reports the steps of make_kernel, plans the boots
	local name=$1 at=$2 dir ko group status
	dir=$(cat "$at.dir") status=$(cat "$at.get")
	cat "$at.why" >&2
	if [ "$status" -eq 3 ]; then
		result ok "$name # SKIP $(tail -n 1 "$at.why")"
		return
	elif [ "$status" -ne 0 ]; then
		result "not ok" "$name # $(tail -n 1 "$at.why")"
		return
	fi
	logs=$out/guest/$(cat "$dir/release")
	ko=$out/module/$(cat "$dir/release")/tsctrace.ko
	mkdir -p "$logs"
	was_built "$name" "$dir" "$logs/module.log" "$at" module || return 0
	was_built "$name" "$dir" "$logs/samples.log" "$at" samples samples ||
		return 0
	was_built "$name" "$dir" "$logs/unreserved.log" "$at" unreserved \
		"without reserved memory" || return 0
	! runs_sparse "$name" || was_sparse_clean "$name" "$logs/sparse.log" "$at"
	count_left_out "$name"
	for group in $(list_groups); do
		plan_group "$name/$group" "$group" "$ko"
		[ ${#planned[@]} -eq 0 ] ||
			plan_boot "$name/$group" "$group" "$dir" "$ko" \
				"$logs/$group" "${planned[@]}"
	done
}

# Prints the host CPUs that a boot uses: one, as QEMU emulates in one thread, or one for each
# CPU of the guest.
boot_cpus() {	# INDEX
	[[ ${boot_group[$1]} =~ ^[a-z]+\.([0-9]+)[^.]*(\.parallel)?$ ]]
	[ -n "${BASH_REMATCH[2]}" ] && echo "${BASH_REMATCH[1]}" || echo 1
}

finish() {
	echo "1..$nr"
	[ "$failed" -eq 0 ] && [ "$nr" -gt 0 ]
	exit
}

if [ -n "$number" ]; then
	. "$work/state"
	# The signal ends the guest, too; what is known of it is printed.
	trap 'tries=0' TERM
	boot "$number"
	take_results "$number"
	finish
fi
read_tests
if [ -n "$list" ]; then
	print_tests
	exit
fi
make -C "$here" O="$out" --no-print-directory >&2
base_initrd
make_kernels
for i in "${!kernels[@]}"; do
	plan_kernel "${kernels[$i]}" "$work/kernel.$i"
done
if [ -n "$plan_dir" ]; then
	declare -p timeout boots smp parallel module needs files rt tests seconds \
		"${!boot_@}" >"$work/state"
	for i in "${!boot_label[@]}"; do
		echo "$i ${boot_label[$i]} $(boot_cpus "$i") $(($(boot_limit "$i") + 60))"
	done >"$work/boots"
	finish
fi
# First boots the guests that QEMU emulates in one thread each: as many at a time as the
# host has CPUs, at most 4, because each takes 1 GiB. Then boots the guests with one
# thread for each CPU, one guest at a time.
boot_all $(($(nproc) < 4 ? $(nproc) : 4)) '*.[0-9]*([^.])'
boot_all 1 '*.parallel'
finish
