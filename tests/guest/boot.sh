#!/bin/bash
# SPDX-License-Identifier: MIT
#
# boot.sh [OPTION]... KERNEL_DIR INITRD - run one guest until it powers off
#
# KERNEL_DIR is the directory that `kernel.sh get` prints. Output of the guest's
# second serial port (ttyS1) goes to standard output as it is written.
#
#   --smp N             virtual CPUs (2)
#   --mem MB            memory (1024)
#   --time SECONDS      limit; a guest that runs longer is killed (300)
#   --silent SECONDS    limit; a guest that writes nothing on the console for so long is
#                       killed, and what its CPUs do is printed (no limit)
#   --console FILE      file for the console (ttyS0); default: discarded
#   --append STRING     additional kernel parameters
#   --no-tsc-reliable   the kernel marks the TSC unstable (CPUs on several
#                       sockets, and no tsc=reliable)
#   --out FILE          file for the data that programs pass to `out`
#   --out-mb MB         its maximum size, a power of two (256)
#   --reboot            a guest that reboots, as after a panic, starts again, with its
#                       memory as it is
#   --parallel          each CPU in a host thread of its own; without it they
#                       take turns in one. For tests of races only: QEMU 7.2
#                       may run old code after another CPU has patched it
#                       (tracepoints, BPF), which ends in "Oops: int3", and on
#                       a busy host the CPUs wait long for each other
#   --unpacked          boots KERNEL_DIR/vmlinux, if there is one: without KASLR, but
#                       some seconds earlier
#   --icount            the TSC counts instructions; one CPU, repeatable
#   --restore           with VM Generation ID: when the guest writes the line "take
#                       a snapshot" to its console, it is saved, and a second
#                       QEMU goes on from there with another id
#   -- ARG...           further arguments for QEMU
#
# ACCEL=kvm in the environment tries KVM instead of emulation.
# Exit status: 0 the guest powered off, 124 time limit, 2 usage, else QEMU's.
set -euo pipefail

die() { echo "boot.sh: $1" >&2; exit "${2:-1}"; }
usage() { die "usage: boot.sh [OPTION]... KERNEL_DIR INITRD ($1)" 2; }

smp=2 mem=1024 limit=300 silent='' console=/dev/null append='' tsc="tsc=reliable"
topology='' out='' out_mb=256 threads=single accel=${ACCEL:-tcg} icount='' restore=''
reboot=-no-reboot image=vmlinuz
more=()
while [ $# -gt 0 ]; do
	case $1 in
	--smp|--mem|--time|--silent|--console|--append|--out|--out-mb)
		[ $# -ge 2 ] || usage "$1 needs a value" ;;
	esac
	case $1 in
	--smp) smp=$2; shift 2 ;;
	--mem) mem=$2; shift 2 ;;
	--time) limit=$2; shift 2 ;;
	--silent) silent=$2; shift 2 ;;
	--console) console=$2; shift 2 ;;
	--append) append=$2; shift 2 ;;
	--no-tsc-reliable) tsc='' topology=,cores=1; shift ;;
	--out) out=$2; shift 2 ;;
	--out-mb) out_mb=$2; shift 2 ;;
	--reboot) reboot=''; shift ;;
	--parallel) threads=multi; shift ;;
	--unpacked) image=vmlinux; shift ;;
	--icount) icount=1; shift ;;
	--restore) restore=1; shift ;;
	--) shift; break ;;
	-*) usage "unknown option $1" ;;
	*) break ;;
	esac
done
[ $# -ge 2 ] || usage "two arguments needed"
kernel=$1 initrd=$2
shift 2
[ "${1:-}" != -- ] || shift
more=("$@")
[ -s "$kernel/$image" ] || image=vmlinuz
[ -r "$kernel/vmlinuz" ] || die "$kernel/vmlinuz: cannot read"
[ -r "$initrd" ] || die "$initrd: cannot read"
command -v qemu-system-x86_64 >/dev/null ||
	die "qemu-system-x86_64 is missing: install qemu-system-x86"

shared='' qemu=''
work=$(mktemp -d)
cleanup() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
	[ -z "$shared" ] || rm -f "$shared"
	rm -rf "$work"
}
trap cleanup EXIT
mkfifo "$work/monitor.in" "$work/monitor.out"
if [ -n "$out" ]; then
	shared=$(mktemp "$out.XXXXXX")
	truncate -s "${out_mb}M" "$shared"
	more+=(-object "memory-backend-file,id=out,share=on,size=${out_mb}M,mem-path=$shared"
		-device "ivshmem-plain,memdev=out")
fi
case $accel in
tcg) accel="tcg,thread=$threads" ;;
kvm) ;;
*) die "ACCEL=$accel: invalid; use tcg or kvm" 2 ;;
esac
if [ -n "$icount" ]; then
	smp=1 accel=tcg
	more+=(-icount "shift=0,sleep=off")
fi

# The emulated TSC is the host's. A guest kernel that waits for a host CPU while it
# measures the TSC's rate gets a wrong rate, and its seconds are too long or too short,
# so the kernel gets the rate by tsc_early_khz=. (The kernel measures the rate again
# later, for longer, and takes the result if it is close to the given rate.)
rate=''
ctl=${O:-$(dirname "$0")/../../build}/tools/trace-ctl
if [[ $accel == tcg* ]] && [ -z "$icount" ] && [ -x "$ctl" ]; then
	rate=$("$ctl" clock --json 2>/dev/null | awk -F'[:,]' '
		/^  "source": "tsc"/ { tsc = 1 }
		tsc && /"rate_mhz"/ { printf "tsc_early_khz=%d", $2 * 1000 + 0.5 }') ||
		rate=''
fi

# -no-reboot: a guest that reboots, as panic=-1 does, ends. no_timer_check: on a busy
# host a late timer interrupt would be taken for a broken timer. erms=off: QEMU emulates
# `rep movsb` and `rep stosb` byte by byte, and a kernel that finds ERMS copies and clears
# memory with them; without it, with 8 bytes at a time.
run_qemu() {	# ARG...
	timeout --foreground -k 5 $((limit > SECONDS ? limit - SECONDS : 1)) \
		qemu-system-x86_64 \
		-accel "$accel" -cpu max,erms=off -smp "$smp$topology" -m "$mem" \
		-nodefaults -no-user-config -display none $reboot \
		-chardev "pipe,id=monitor,path=$work/monitor" -mon monitor \
		-chardev "file,id=console,path=$console,append=on" \
		-serial chardev:console -serial stdio \
		-kernel "$kernel/$image" -initrd "$initrd" \
		-append "console=ttyS0 quiet panic=-1 no_timer_check printk.devkmsg=on\
 $rate $tsc $append" \
		"${more[@]}" "$@" </dev/null &
	qemu=$!
	wait_for_guest
}

# Returns QEMU's exit status, or 124 if the guest was silent for too long.
wait_for_guest() {
	local pause size='' now heard=$SECONDS
	while kill -0 "$qemu" 2>/dev/null; do
		sleep 5 &
		pause=$!
		wait -n "$qemu" "$pause" || true
		kill "$pause" 2>/dev/null || true
		now=$(stat -Lc %s "$console")
		[ "$now" = "$size" ] || heard=$SECONDS
		size=$now
		if [ $((SECONDS - heard)) -ge "${silent:-$limit}" ]; then
			print_cpus
			kill "$qemu"
			wait "$qemu" || true
			return 124
		fi
	done
	wait "$qemu"
}

# QEMU prints a line with RIP and HLT for each CPU.
print_cpus() {
	echo "boot.sh: nothing on the console for ${silent:-$limit} s; the CPUs:" >&2
	echo "info registers -a" >"$work/monitor.in"
	timeout 10 sed -un 's/.*\(RIP=.*\)\r*/boot.sh: \1/p' <"$work/monitor.out" >&2 || true
}

# Waits for the guest's request, and has QEMU stop the guest, save it and quit. While a guest
# runs, an emulated CPU's last stores may be missing in the saved memory.
save_guest() {
	until grep -q '^take a snapshot' "$console"; do sleep 0.2; done
	printf 'stop\nmigrate "exec:cat >%s/state"\nquit\n' "$work" >"$work/monitor.in"
}

restore_guest() {
	local pid status=0
	save_guest &
	pid=$!
	# Without the global state, the saved guest runs when it is restored.
	run_qemu -device vmgenid,guid=11111111-1111-4111-8111-111111111111 \
		-global migration.store-global-state=off || status=$?
	kill "$pid" 2>/dev/null || true
	wait "$pid" || true
	[ "$status" -eq 0 ] && [ -s "$work/state" ] || return "$status"
	run_qemu -device vmgenid,guid=22222222-2222-4222-8222-222222222222 \
		-incoming "exec:cat $work/state"
}

status=0
: >"$console"
if [ -n "$restore" ]; then
	restore_guest || status=$?
else
	run_qemu || status=$?
fi
if [ -n "$out" ]; then
	# The shared memory begins with struct area of out.c: 8 bytes "tsct-out", and 8
	# bytes with the size of the data, which follows after 4096 bytes.
	used=0
	[ "$(head -c 8 "$shared" | tr -d '\0')" != tsct-out ] ||
		used=$(od -An -tu8 -j 8 -N 8 "$shared" | tr -d ' ')
	dd if="$shared" of="$out" bs=1M iflag=skip_bytes,count_bytes \
		skip=4096 count="$used" status=none
fi
[ "$status" -ne 124 ] || echo "boot.sh: killed after $SECONDS s" >&2
exit "$status"
