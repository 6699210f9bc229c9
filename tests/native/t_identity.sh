#!/bin/bash
# SPDX-License-Identifier: MIT
# Threads that are who they are: children of three nested pid namespaces, and their threads,
# have the numbers, processes and names that /proc of the outermost namespace says, also where
# numbers are used again. Inside a pid namespace, kernel events are those of the command.
# FORKS: number of children (2000).
. "$(dirname "$0")/record.sh"
need_first_pid_namespace

cd "$work"
: "${FORKS:=2000}"
run_seconds=$((120 + FORKS / 50))
unshare -p --fork --mount-proc true 2>/dev/null || skip "pid namespaces: not permitted"
bpf=true
"$ctl" record -q -e sched_switch -o probe -- true 2>err || bpf=false

# Without the BPF programs of kernel events, a child may end before the recorder reads about
# it: then it has no name, but never a wrong one.
check() {	# DIR FILE [names]
	"$ctl" dump --json "$1" >"$1.json"
	"$here/forkcheck.py" "$2" "${@:3}" <"$1.json" >"$work/out" ||
		fail "threads of $1"
	cat "$work/out"
}

# The inner namespaces have room for 700 numbers, so that numbers are used again.
run 0 record -o embedded -- "$helpers/forks" "$FORKS" embedded.txt 1000
check embedded embedded.txt
if $bpf; then
	run 0 record -e sched_switch -o events -- "$helpers/forks" "$FORKS" events.txt 1000
	check events events.txt names
fi
start_daemon
run 0 record -o daemon -- "$helpers/forks" "$FORKS" daemon.txt 1000
check daemon daemon.txt
if $bpf; then
	run 0 record -e sched_switch -o both -- "$helpers/forks" "$FORKS" both.txt 1000
	check both both.txt names
fi

# Formats group threads by their processes.
if has_wing formats; then
	"$ctl" export -f json -o out.json embedded 2>err || fail "export"
	python3 - out.json embedded.txt <<'END' || fail "processes in JSON"
import json, sys
wanted = {}
for line in open(sys.argv[2]):
    number, tid, tgid, name = line.rstrip("\n").split(" ", 3)
    wanted[int(number)] = (int(tid), int(tgid))
known = 0
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["name"] != "child":
        continue
    tid, tgid = wanted[e["args"]["number"]]
    assert e["tid"] == tid, e
    if e["pid"] < 1 << 22:
        assert e["pid"] == tgid, e
        known += 1
assert known
END
fi

# stat and report have the process of each thread, as has OTF2, whose location groups are
# processes.
has_wing threads || exit 0
"$ctl" stat --json embedded >stat.json 2>err || fail "stat"
report=() groups=()
if has_wing report; then
	"$ctl" report -q -o report.html embedded 2>err || fail "report"
	report=(report.html)
fi
if has_wing formats && command -v otf2-print >/dev/null; then
	"$ctl" export -q -f otf2 -o out.otf2 embedded 2>err || fail "export to OTF2"
	otf2-print -G out.otf2/traces.otf2 >groups
	groups=(groups)
fi
python3 - embedded.txt stat.json "${report[@]}" "${groups[@]}" <<'END' || fail "processes of threads"
import json, re, sys
wanted = {}
for line in open(sys.argv[1]):
    number, tid, tgid, name = line.rstrip("\n").split(" ", 3)
    wanted[f"{name} ({tid})"] = int(tgid)
known = 0
for t in json.load(open(sys.argv[2]))["threads"]:
    if re.match(r"(child|thread)-\d", t["name"]):
        assert wanted[f"{t['name']} ({t['tid']})"] == t["pid"] and t["events"] == 1, t
        known += 1
assert known
for path in sys.argv[3:]:
    known = 0
    for name, tid, process in re.findall(
        r"<tr><th[^>]*>([^<]*)</th><td>(\d+)</td><td class=.left.>([^<]*)</td>",
        open(path).read()):
        if f"{name} ({tid})" in wanted:
            assert process, (name, tid)
            known += 1
    for line in open(path):
        found = re.match(r'LOCATION  .*Name: "(.* \(\d+\))".*Group: ".* \((\d+)\)"', line)
        if found:
            assert wanted[found[1]] == int(found[2]), line
            known += 1
    assert known
END
$bpf || exit 0

# --- a recorder in a pid namespace ---------------------------------------------

cat >inside.sh <<'END'
"$1" record -q -e syscalls -o inside -- sh -c 'sleep 0.1; ls / >/dev/null'
sleep 0.5 &
"$1" record -q -e syscalls -p $$ --duration 3 -o pid &
while kill -0 $! 2>/dev/null; do
	ls / >/dev/null
	sleep 0.05
done
END
unshare -p --fork --mount-proc bash inside.sh "$ctl" 2>err || fail "record in a pid namespace"
for dir in inside pid; do
	"$ctl" dump --json "$dir" >"$dir.json"
	grep -q '"thread":"ls"' "$dir.json" || fail "$dir: no system calls of ls"
	! grep '"event":"sys_bpf"' "$dir.json" >wrong ||
		fail "$dir: system calls of the recorder: $(head -n 1 wrong)"
done
