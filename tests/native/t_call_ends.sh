#!/bin/bash
# SPDX-License-Identifier: MIT
# System calls whose end cannot come or has no begin: threads that end, are killed, or execute a
# program; calls that seccomp refuses, or a tracer answers; calls that are unknown, or of 32-bit
# programs.
# test-fast: yes
# test-wing: kernel
. "$(dirname "$0")/record.sh"
need_first_pid_namespace

export TSCTRACE_PROVIDER=embedded
cd "$work"
needs_kernel_events
python=$(python3 -c 'import sys; print(sys.executable)')

cat >ends.py <<'END'
import ctypes, mmap, os, signal, struct, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)
real = os.path.realpath(sys.executable)
SLEEP = 1

def ptrace(*args):
    return libc.ptrace(*(ctypes.c_long(a) for a in args))

def seccomp(nr, action):	# what happens at call nr; all others are allowed
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, nr), (6, 0, 0, action), (6, 0, 0, 0x7fff0000)]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
    prog = struct.pack("HP", len(code), ctypes.addressof(filters))
    assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, prog)

def ends():			# a thread ends, and the process goes on
    t = threading.Thread(target=lambda: None)
    t.start()
    t.join()
    if os.fork() == 0:		# exit_group() while another thread sleeps
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        time.sleep(.2)
        os._exit(0)
    os.wait()
    pid = os.fork()		# killed in a call
    if pid == 0:
        time.sleep(60)
    time.sleep(.2)
    os.kill(pid, signal.SIGKILL)
    os.wait()
    time.sleep(SLEEP)

def again():			# a number is used again within a millisecond
    tid = ctypes.c_int(0)
    out, to = os.pipe()
    for i in range(4):
        args = (ctypes.c_ulonglong * 11)()	# struct clone_args
        args[4] = signal.SIGCHLD
        args[8], args[9] = (ctypes.addressof(tid), 1) if i else (0, 0)	# set_tid
        while (pid := libc.syscall(435, args, ctypes.sizeof(args))) < 0:
            assert ctypes.get_errno() == 17	# EEXIST: another process has it
        if pid == 0:
            if i % 2:
                os.read(out, 1)		# killed there
            os._exit(0)
        if i % 2:
            while not open(f"/proc/{pid}/syscall").read().startswith("0 "):
                time.sleep(.001)
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        tid.value = pid
    time.sleep(SLEEP)

def other():			# a program is executed by a thread that is not the first
    threading.Thread(target=os.execv, args=("/bin/sleep", ["sleep", str(SLEEP)])).start()
    time.sleep(60)

def fd():			# by fexecve()
    os.execve(os.open("/bin/sleep", os.O_RDONLY), ["sleep", "0"], {})

def refused():			# mkdirat() gives EPERM
    seccomp(258, 0x50001)
    for i in range(3):
        assert libc.mkdirat(-100, b"refused-%d" % i, 0o700) == -1
    if os.fork() == 0:
        seccomp(231, 0x50001)
        libc.syscall(231, 3)		# exit_group()
        libc.syscall(60, 3)
    os.wait()

def cold():			# a name that is not in memory when the call starts
    open("cold.bin", "wb").write(b"cold-name".ljust(4096, b"\0"))
    at = mmap.mmap(os.open("cold.bin", os.O_RDWR), 4096)
    name = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(at)))
    for i in range(3):
        if os.fork() == 0:
            libc.mkdirat(-100, name, 0o700)
            os._exit(0)
        os.wait()

def cold_exec():		# the text of a successful execve() is gone at its end
    open("cold.bin", "wb").write(b"/bin/true".ljust(4096, b"\0"))
    at = mmap.mmap(os.open("cold.bin", os.O_RDWR), 4096)
    name = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(at)))
    argv = (ctypes.c_char_p * 2)(b"true", None)
    for i in range(3):
        if os.fork() == 0:
            libc.execve(name, argv, None)
        os.wait()

def killed():			# mkdirat() and call 1000 kill the process
    for nr in (258, 1000):
        if os.fork() == 0:
            seccomp(nr, 0x80000000)
            libc.syscall(nr, -100, b"killed", 0o700)
        assert os.WTERMSIG(os.wait()[1]) == signal.SIGSYS
    time.sleep(SLEEP)

def emulated():			# a tracer answers mkdirat() and call 1000 (PTRACE_SYSEMU)
    child = os.fork()
    if child == 0:
        ptrace(0, 0, 0, 0)
        signal.raise_signal(signal.SIGSTOP)
        os._exit(libc.mkdirat(-100, b"emulated", 0o700) + libc.syscall(1000, 5))
    os.waitpid(child, 0)
    ptrace(0x4200, child, 0, 1)			# PTRACE_SETOPTIONS, PTRACE_O_TRACESYSGOOD
    while True:
        ptrace(31, child, 0, 0)
        status = os.waitpid(child, 0)[1]
        if os.WSTOPSIG(status) != signal.SIGTRAP | 0x80:
            continue				# a signal is not delivered
        nr = ptrace(3, child, 15 * 8, 0)	# PTRACE_PEEKUSER, orig_rax
        if nr == 231:				# exit_group() is the kernel's
            break
        ptrace(6, child, 10 * 8, 7 if nr in (258, 1000) else 0)	# PTRACE_POKEUSER, rax
    ptrace(7, child, 0, 0)			# PTRACE_CONT
    os.kill(child, signal.SIGKILL)
    os.wait()

def attached():			# a tracer leaves, and comes again in a call
    out, to = os.pipe()
    child = os.fork()
    if child == 0:
        for i in range(4):
            os.read(out, 1)
        os._exit(0)

    def reads():
        while not open(f"/proc/{child}/syscall").read().startswith("0 "):
            time.sleep(.001)

    reads()
    ptrace(0x4206, child, 0, 0)		# PTRACE_SEIZE
    os.write(to, b"1")
    reads()
    ptrace(0x4207, child, 0, 0)		# PTRACE_INTERRUPT
    os.waitpid(child, 0)
    ptrace(17, child, 0, 0)		# PTRACE_DETACH
    os.write(to, b"2")
    reads()
    ptrace(0x4206, child, 0, 0)
    os.write(to, b"34")
    assert os.waitpid(child, 0)[1] == 0

def call_32():			# getpid() of 32-bit programs
    at = mmap.mmap(-1, 4096, prot=7)
    at.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")
    run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(at)))
    assert run() == os.getpid()

def unknown():			# numbers 1000 and -1, and getpid() of 32-bit programs
    libc.syscall(1000, 7, 8)
    libc.syscall(-1, 9)
    libc.syscall(257, -100, 16, 0)	# openat() of an address without memory
    if "no_call_32" not in os.environ:
        call_32()
    sys.stdout.flush()
    os._exit(0)

globals()[sys.argv[1]]()
END

record() {	# NAME OPTION...
	run 0 record -q -e syscalls "${@:2}" -o "$1" -- "$python" ends.py "${1%-*}"
}

# --- ends that cannot come -----------------------------------------------------

# No slice that was begun goes on when its thread is gone: a call that does not return is no
# slice, and another one ends with its thread.
check() {	# NAME
	has_wing formats || return 0
	run 0 export -q -f json -o "$1.json" "$1"
	python3 - "$1.json" "$1" <<'END' || fail "$1: slices in JSON"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
open_, names, begun, ended = {}, set(), {}, {}
for e in events:
    row = open_.setdefault((e["pid"], e["tid"]), [])
    if e["ph"] == "B":
        row.append(e)
        begun[e["name"]] = max(begun.get(e["name"], 0), e["ts"])
        assert e["name"] not in ("sys_exit", "sys_exit_group"), e
    elif e["ph"] == "E":
        b = row.pop()
        assert b["name"] == e["name"], (b, e)
        ended[b["name"]] = max(ended.get(b["name"], 0), e["ts"])
    names.add(e["name"])
left = [e for row in open_.values() for e in row]
assert not left, left
assert "sys_exit_group" in names
if sys.argv[2] == "other":	# the program sleeps after that
    assert ended["sys_execve"] < begun["sys_clock_nanosleep"], (begun, ended)
END
}
record ends
check ends
! has_wing formats || grep -q '"name":"sys_exit"' ends.json || fail "no thread ended"
record again
check again
if has_wing query; then
	run 0 query -q --json again "SELECT count(*) AS n, sum(until_ns > next) AS over FROM
		(SELECT until_ns, lead(from_ns) OVER (ORDER BY from_ns) AS next FROM processes WHERE pid
		IN (SELECT pid FROM processes GROUP BY pid HAVING count(*) > 1))"
	shows '"n":4,"over":0'
fi
record other
check other
! has_wing report || run 0 report -q -o page.html other
if has_wing formats && command -v otf2-print >/dev/null; then
	run 0 export -q -f otf2 -o other.otf2 other
	otf2-print --silent other.otf2/traces.otf2 || fail "OTF2"
	otf2-print other.otf2/traces.otf2 >otf2
	python3 - otf2 <<'END' || fail "OTF2: slices"
import re, sys
begun, ended, slept = set(), 0, 0
for line in open(sys.argv[1]):
    m = re.match(r'(ENTER|LEAVE) +(\d+) +(\d+) .*Region: "sys_(execve|clock_nanosleep)"', line)
    if m and m[4] == "clock_nanosleep":
        slept = max(slept, int(m[3]) if m[1] == "ENTER" else 0)
    elif m and m[1] == "ENTER":
        begun.add(m[2])
    elif m:
        begun.remove(m[2])
        ended = max(ended, int(m[3]))
assert not begun and 0 < ended < slept, (begun, ended, slept)
END
fi
record fd
check fd
! has_wing strace || run_shows 0 ' execveat(.*) = 0 <' dump --strace fd
run 0 stat -a --json fd
holds out '[(c["calls"], c["timed"]) for c in j["system_calls"] if c["name"] == "execveat"] == [(1, 1)]'

# --- calls that seccomp refuses -------------------------------------------------

record refused
record refused-where --where 'sys_mkdirat:ret < 0'
for dir in refused refused-where; do
	if has_wing strace; then
		run 0 dump --strace --event sys_mkdirat "$dir"
		[ "$(grep -c ' mkdirat(AT_FDCWD, "refused-[0-2]", 0700) = -1 EPERM (Operation not permitted)$' \
			out)" = 3 ] || { cat out; fail "$dir: refused calls"; }
	fi
	run_shows 0 '^mkdirat  *3  *3  ' stat -a "$dir"
done
! has_wing strace || run_shows 0 ' exit_group(3) = -1 EPERM' dump --strace refused
! has_wing strace || run_shows 0 ' prctl(PR_SET_SECCOMP, .*) = 0 <' dump --strace refused

# A condition on a text that cannot be read at the start is tested at the end.
record cold --where 'sys_mkdirat:pathname == "cold-name"'
record cold-other --where 'sys_mkdirat:pathname == "other"'
run 0 dump --event sys_mkdirat cold
[ "$(grep -c 'pathname="cold-name" .*ret=' out)" = 3 ] || { cat out; fail "a text that was not in memory"; }
! "$ctl" dump cold-other | grep sys_mkdirat || fail "another text"
record cold-not --where 'sys_mkdirat:pathname != "cold-name"'
! "$ctl" dump cold-not | grep sys_mkdirat || fail "a text that was excluded"
record cold_exec-other --where 'sys_execve:filename == "/no/such"'
! "$ctl" dump cold_exec-other | grep sys_execve || fail "a text that was never read"
record cold_exec-not --where 'sys_execve:filename != "/no/such"'
[ "$("$ctl" dump --event sys_execve cold_exec-not | grep -c 'filename=unreadable .*ret=0$')" = 3 ] ||
	{ "$ctl" dump --event sys_execve cold_exec-not; fail "a text that equals no text"; }
run_says 1 'filename: text that is not in memory .*; add -e sys_exit' \
	record -e sys_enter --where 'sys_openat:filename == "other"' -o none -- true

record killed
check killed
if has_wing strace; then
	run 0 dump --strace --event sys_mkdirat killed
	grep -q ' mkdirat(AT_FDCWD, "killed", 0700 <unfinished' out && ! grep ' = 258' out ||
		fail "a call that kills has a result"
fi
run 0 dump --event 'sys_e*' killed
[ "$(grep -c 'sys_enter .*id=1000 ' out)" = 1 ] || { cat out; fail "the call 1000 that kills"; }
! grep -E 'sys_exit .*(id=1000|ret=1000)' out || fail "the call 1000 that kills has a result"

record emulated
record emulated-where --where 'sys_mkdirat:ret == 7'
for dir in emulated emulated-where; do
	! has_wing strace || run_shows 0 ' mkdirat(AT_FDCWD, "emulated", 0700) = 7$' dump --strace "$dir"
	run_shows 0 '^mkdirat  *1  *0  ' stat -a "$dir"
done
run_shows 0 '^syscall_0x3e8  *1  *0  ' stat -a emulated
record attached
run_shows 0 ' sys_read  *end ' stat -a attached
! grep ' sys_read  *instant ' out || fail "a call whose begin is recorded counts as answered"
! has_wing strace || run_shows 0 ' syscall_0x3e8(0x5, .*) = 7 <' dump --strace emulated

# --- unknown calls, calls of 32-bit programs --------------------------------------

# Some virtual machines have no 32-bit calls: they end a program with SIGSEGV.
"$python" ends.py call_32 || export no_call_32=1
record unknown
if has_wing strace; then
	run_shows 0 ' syscall_0x3e8(0x7, 0x8, .*) = -1 ENOSYS (Function not implemented) <' \
		dump --strace unknown
	! grep ' <\.\.\. exit resumed>\| exit(0x' out || fail "an unknown call has the name exit"
	shows ' syscall_0xffffffff(0x9, .*) = -1 ENOSYS (Function not implemented) <'
	! grep sigreturn out || fail "an unknown call has the name rt_sigreturn"
fi
run_shows 0 '^syscall_0x3e8  *1  *1 ' stat -a unknown
shows '^syscall_0xffffffff  *1  *1 '
[ -n "${no_call_32:-}" ] || shows '^getpid (32-bit)  *1  *0 '
# A text that could not be read is no text.
if has_wing query; then
	run 0 query -q --json unknown "SELECT (SELECT count(*) > 0 FROM sys_openat WHERE kind = 'begin'
		AND filename IS NULL) AS field, (SELECT count(*) > 0 FROM calls WHERE name = 'openat'
		AND json_extract(begin_fields, '$.filename') IS NULL) AS fields"
	shows '"field":1,"fields":1'
fi
if has_wing formats; then
	run 0 export -q -f csv -o - unknown
	grep -q ',sys_openat,begin,' out && ! LC_ALL=C grep "$(printf '[\357\377]')" out ||
		fail "CSV: an unreadable text"
fi
run 0 stat -a --calls --by filename unknown
shows ' openat$'
! LC_ALL=C grep "$(printf '[\357\377]')\|\\\\xff" out || fail "stat --by: an unreadable text"
# Ends alone
run 0 record -q -e sys_exit -o alone -- "$python" ends.py unknown
run_shows 0 'sys_exit  *id=-1 ret=-38$' dump alone
total=$("$ctl" dump alone | grep -c 'sys_.*/end ')
failed=$("$ctl" dump alone | grep -c 'sys_.*/end .*ret=-')
run 0 record -q -e sys_exit --where 'ret < 0' -o failed -- "$python" ends.py unknown
[ "$("$ctl" dump failed | grep -c 'sys_.*/end .*ret=-')" = "$failed" ] || fail "ends with an error"
! "$ctl" dump failed | grep 'sys_.*/end .*ret=[0-9]' || fail "ends without an error"
run 0 record -e sys_exit --rate-limit 1 -o few -- "$python" ends.py unknown
few=$("$ctl" dump few | grep -c 'sys_.*/end ')
[ "$few" -lt "$((total / 2))" ] || fail "$few of $total ends with a limit of 1/s"
says "rate limit: .* dropped: .*sys_read/end"
run_says 1 'no such field' record -e sys_exit --where 'sys_openat:dfd == 3' -o none -- true
run_says 1 'no such field' record -e sys_enter --where 'ret < 0' -o none -- true
