#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl align: traces of other tools, of two nodes whose true times are known, become an
# archive. A reader of its own (align_check.py) finds each event in it within the stated bound.
# Files that cannot be related are refused, with a sentence, or left out.
# test-wing: align
. "$(dirname "$0")/lib.sh"
need python3
cp "$here/align_check.py" "$work/"
traces() { python3 "$work/align_check.py" "$@"; }
echo 1..11
cd "$work"
mkdir tr world
"$helpers/align_world" world 3 >truth
traces make tr truth
nodes=(--node n0=world/0 --node "n1=$work/world/1")
all_of() {	# K: arguments for all traces of node K
	local n=@n$1 p=tr/$1
	inputs+=("--clock" monotonic "${p}s.txt$n" --clock auto "${p}p.pftrace$n" "${p}k.json$n" "${p}q.pftrace$n"
		"${p}d.jsonl" --clock tsc "${p}x.trace$n"
		--clock boottime "${p}f.trace$n" "${p}z.fxt$n" --clock raw "${p}j.json$n" "${p}r.txt$n")
}
align() { "$ctl" align -o all.tar "$@" >out 2>err; }
aligns() {	# ARGUMENT...
	align --json "$@" || fail "status $?: $(cat err)"
	cp out table
	traces check all.tar truth table >out 2>err || fail "$(cat out err)"
}

# --- wrong usage --------------------------------------------------------------------------
run_says 2 "no file; give traces of Perfetto" align -o all.tar
run_says 2 "no archive; give -o" align tr/0s.txt
run_says 2 "give NAME=DIR or NAME=DIR,BOOT" align --node n0 -o all.tar tr/0s.txt
run_says 2 "'xyz': not a boot id" align --node n0=world/0,xyz -o all.tar tr/0s.txt
run_says 2 "'n0' was given twice" align --node n0=world/0 --node n0=world/1 -o all.tar tr/0s.txt
run_says 2 "'perf'.*monotonic, boottime" align --clock perf -o all.tar tr/0s.txt
ok "wrong usage"

# --- two nodes ----------------------------------------------------------------------------
inputs=()
all_of 0
all_of 1
aligns "${nodes[@]}" "${inputs[@]}"
grep -q '"timeline": "cluster"' table || fail "timeline: $(cat table)"
[ "$(grep -c '"begin_cycles"' table)" = 2 ] || fail "cycles: $(cat table)"
total=$(tail -n 1 out)
aligns "${nodes[@]}" --clock auto tr/m.pftrace --clock auto tr/0p.pftrace@n0 --clock monotonic tr/1s.txt@n1 --clock auto tr/m.json
[ "$(grep -c '"node": null' table)" = 2 ] || fail "$(cat table)"
ok "two nodes: $total events in their bounds, on the cluster's timeline"
aligns "${nodes[@]}" --timeline utc "${inputs[@]}"
mkdir other
"$helpers/align_world" other 5 other >truth5
mkdir tr5
traces make tr5 truth5
run_says 1 "of node b at .*: at that moment, the node had no cluster time, or that of" \
	align -o all.tar --timeline cluster --node a=other/0 --node b=other/1 --clock monotonic tr5/0s.txt@a --clock monotonic tr5/1s.txt@b
align --json --node a=other/0 --node b=other/1 --clock monotonic tr5/0s.txt@a --clock monotonic tr5/1s.txt@b || fail "$(cat err)"
grep -q '"timeline": "utc"' out || fail "$(cat out)"
traces check all.tar truth5 >out || fail "$(cat out)"
run_says 1 "m.json: a merged recording on timeline 9 of master 77, on which no other trace is" \
	align -o all.tar --node a=other/0 --node b=other/1 --clock auto tr5/m.json --clock monotonic tr5/1s.txt@b
run_says 1 "m.pftrace: a merged recording on timeline 9 of master 77, on which no other trace is" \
	align -o all.tar --node a=other/0 --clock auto tr5/m.pftrace
ok "on the timeline of UTC, as two timelines of one master have to be"

# --- one node -----------------------------------------------------------------------------
inputs=()
all_of 1
aligns --node n1=world/1,0000000000000000000000000000b008 "${inputs[@]}"
grep -q '"timeline": "realtime"' table || fail "timeline: $(cat table)"
run_says 1 "1s.txt: its node is not known; give FILE@NODE" \
	align --clock monotonic -o all.tar "${nodes[@]}" --clock monotonic tr/1s.txt
ok "one node"

# --- what cannot be related -----------------------------------------------------------------
printf 'x' >empty
: >none
{ printf '\n\200\200\200\200\002'; cat tr/0p.pftrace; } >huge
head -c 9000 tr/0p.pftrace >cut.pftrace
head -c 9000 tr/0k.json >cut.json
head -c 9001 tr/0z.fxt >cut.fxt
head -c 9001 tr/0d.jsonl >cut.jsonl
cat tr/[01]d.jsonl >boots.jsonl
sed '2s/_BOOT_ID/x/' tr/0d.jsonl >noboot.jsonl
gzip -c tr/0s.txt >zip.gz
printf 'PERFILE2 and so on' >perf.data
printf '\301\037\374\301x' >stream
printf 'LPKSHHRH' >system.journal
{ echo "# captured on : today"; cat tr/0s.txt; } >header.txt
sed 's/:  1 cycles/000&/' tr/0s.txt >nine.txt
sed '/^$/d' tr/0s.txt >chains.txt
printf '[{"ph":"i","ts":-5}]' >minus.json
printf '[{"ph":"i","ts":1e300}]' >large.json
printf '[%.0s' {1..300} >deep.json
printf '{"traceEvents":[{"ph":"i","ts":5}}' >bracket.json
refused() {	# SENTENCE ARGUMENT...
	local says=$1
	shift
	rm -f all.tar
	run_says 1 "$says" align -o all.tar --node n0=world/0 "$@"
	[ ! -e all.tar ] || fail "an archive was written for $*"
}
refused "empty: not a trace that can be aligned: give one of" empty
refused "none: is empty" none
refused "nothere: No such file" nothere
refused "tr: not a regular file; of a recording or CTF trace, give an export" tr
refused "huge: a packet is damaged" huge
refused "cut.pftrace: ends within a packet; the file is cut" cut.pftrace
refused "cut.json: ends within" --clock monotonic cut.json
refused "cut.fxt: ends within a record; the file is cut" --clock boottime cut.fxt
refused "0n.bare: a packet names no clock, and no clock snapshot before it" tr/0n.bare
refused "zip.gz: is compressed; decompress it" zip.gz
refused "perf.data: perf script failed" perf.data
! PATH=$work "$ctl" align -o all.tar --node n0=world/0 perf.data 2>err || fail "without perf"
grep -q "perf.data: a file of perf record, and perf cannot be run: No such file" err || fail "$(cat err)"
refused "0s.txt: text of perf script has no cycles" --clock tsc tr/0s.txt
refused "0f.trace: text of ftrace without an event that has cycles" --clock tsc tr/0f.trace
refused "1d.jsonl: is of another boot than node n0" tr/1d.jsonl
refused "0d.jsonl: entries of journald name their clock" --clock monotonic tr/0d.jsonl
refused "boots.jsonl: line 273: an entry of another boot" boots.jsonl
refused "noboot.jsonl: line 2: not an entry" noboot.jsonl
refused "cut.jsonl: line .*: not an entry" cut.jsonl
refused "stream: a part of a CTF trace" stream
refused "system.journal: a file of journald; give its entries" system.journal
refused "0s.txt: text of perf script does not name its clock; give --clock before it" tr/0s.txt
refused "header.txt: begins with a header.* without --header" --clock monotonic header.txt
refused "nine.txt: has times of 9 digits.* without --ns" --clock monotonic nine.txt
refused "chains.txt: has samples without call chains" --clock monotonic chains.txt
refused "0f.trace: text of ftrace does not name its clock; .* local and global are unknown" tr/0f.trace
refused "0p.pftrace: a Perfetto trace names its clocks itself" --clock raw tr/0p.pftrace
refused "minus.json: ts of event 1: '-5' is not an unsigned number" --clock raw minus.json
refused "large.json: ts of event 1: '1e300' is not an unsigned number" --clock raw large.json
refused "deep.json: objects are nested too deeply" --clock raw deep.json
refused "bracket.json: not JSON: brackets do not match" --clock raw bracket.json
refused "0s.txt: no node after the @; give FILE@NODE" tr/0s.txt@
refused "1s.txt: there is no node 'n7'; give --node n7=DIR" --clock monotonic tr/1s.txt@n7
refused "1s.txt: CLOCK_MONOTONIC of node n0 at .*: .* all that is recorded" --clock monotonic tr/1s.txt
refused "0s.txt: the history of node nx cannot be read; give --node nx=DIR" --node nx=nowhere --clock monotonic tr/0s.txt@nx
ok "files that cannot be related"

# --- left out -----------------------------------------------------------------------------
align --force "${nodes[@]}" --clock monotonic tr/0s.txt@n0 --clock auto cut.pftrace@n0 && fail "status 0, and a file is left out"
status=$?
[ $status = 3 ] || fail "status $status"
grep -q "cut.pftrace: left out" err || fail "$(cat err)"
traces check all.tar truth >out || fail "$(cat out)"
grep -q "^total 273$" out || fail "$(cat out)"
ok "left out by --force"

# --- a history that is cut, of another boot, damaged ------------------------------------------
cut() {	# BYTES: of node 0's history
	mkdir -p cut/history
	head -c "$1" world/0/history/* >cut/history/0000000000000000000000000000b007.1
}
cut 1200
run_says 1 "0s.txt: CLOCK_MONOTONIC of node x at" align -o all.tar --node x=cut --clock monotonic tr/0s.txt
cut 50
run_says 1 "not a history, or its beginning is damaged" align -o all.tar --node x=cut --clock monotonic tr/0s.txt
cut 5760
cp world/1/history/* cut/history/
run_says 1 "has 2 boots; name one: --node NAME=DIR,BOOT" align -o all.tar --node x=cut --clock monotonic tr/0s.txt
run_says 1 "of node x at .* that is recorded" align -o all.tar \
	--node x=cut,0000000000000000000000000000b008 --clock monotonic tr/0s.txt
aligns --node x=cut,00000000-0000-0000-0000-00000000b007 --clock monotonic tr/0s.txt
ok "histories"

# --- CLOCK_REALTIME is set, and nothing is known around that ----------------------------------
mkdir stepped tr2
"$helpers/align_world" stepped 4 step >truth
traces make tr2 truth
run_says 1 "1s.txt: CLOCK_MONOTONIC of node n1 at .*: nothing is known of that time" \
	align -o all.tar --node n1=stepped/1 --clock monotonic tr2/1s.txt
# Without the events of these 0.6 s, it is known, before and after.
traces skip tr2/1s.txt truth >tr2/known.txt
aligns --node n1=stepped/1 --timeline cluster --clock monotonic tr2/known.txt
aligns --node n1=stepped/1 --timeline utc --clock monotonic tr2/known.txt
aligns --node n1=stepped/1 --clock monotonic tr2/known.txt
ok "a step of CLOCK_REALTIME: $(tail -n 1 out)"

# --- names, duplicates, many files ----------------------------------------------------------
"$helpers/align_world" world 3 >truth
name=$'a\nb\e[1m\xff..txt'
cp tr/0s.txt "$name"
cp tr/0s.txt '.hidden@n9'
align --node $'n\n\e0=world/0' --clock monotonic "$name" '.hidden@n9' tr/0s.txt tr/0s.txt cut.fxt && fail "cut.fxt"
align --force --node $'n\n\e0=world/0' --clock monotonic "$name" '.hidden@n9' tr/0s.txt tr/0s.txt cut.fxt &&
	fail "cut.fxt"
traces check all.tar truth >checked || fail "$(cat checked)"
grep -q '^total 1092$' checked || fail "$(cat checked)"
! grep -q $'\e' out err || fail "control characters on the terminal"
# Names that differ in bytes that are no text, or beyond those that are shown
long=$(printf 'x%.0s' {1..300})
aligns --node $'\xfe=world/0' --node $'\xff=world/1' --node "${long}1=world/1" --clock monotonic tr/0s.txt@$'\xfe' \
	--clock monotonic tr/1s.txt@$'\xff' --clock auto tr/1p.pftrace@"${long}1"
[ "$(grep -o 'machine .*' out | sort -u | wc -l)" = 3 ] || fail "$(cat out)"
many=()
head -n 14 tr/0s.txt >few.txt
for ((i = 0; i < 10000; i++)); do many+=(few.txt); done
(ulimit -n 64; ulimit -v 500000; align --node n0=world/0 --clock monotonic "${many[@]}") || fail "$(cat err)"
[ "$(tar tf all.tar | grep -c '^traces/')" = 10000 ] || fail "$(tar tf all.tar | wc -l) files"
ok "names, and 10000 files"

# --- an archive that does not fit ---------------------------------------------------------------
rm all.tar
(ulimit -f 1000; align --node n0=world/0 --clock monotonic "${many[@]}") && fail "larger than the limit"
grep -q "all.tar: File too large; raise 'ulimit -f'" err || fail "$(cat err)"
[ -z "$(find . -maxdepth 1 -name '*all.tar*')" ] || fail "a part of an archive is left"
ok "an archive that does not fit"

# --- our own exports, by a daemon on this host --------------------------------------------------
export TSCTRACE_RUN_DIR=$work/run
mkdir run
printf 'history 2\n' >conf
"$daemon" --run-dir "$work/run" --config conf --interval-ms 100 2>daemon.log &
track pid
synced() { "$ctl" clock --wait-synced=0 >/dev/null 2>&1; }
wait_for "the clock is synchronized" synced
run 0 record -q -o rec -- "$emit" 300 2
run 0 export --format perfetto -o rec.pftrace rec
run 0 export --format json -o rec.json rec
run 0 export --format json --relative -o relative.json rec
# perf.data: the text that perf script prints, of the clock that the file names
perf record -q -g -k CLOCK_MONOTONIC -e cpu-clock -o perf.data -- "$emit" 300000 2 >err 2>&1 || fail "$(cat err)"
perf script -i perf.data >perf.txt
# The history goes beyond the last event.
own() { align --json rec.pftrace rec.json relative.json perf.data; }
wait_for "the exports can be aligned" own
tar xOf all.tar traces/00004-perf.data.txt | cmp - perf.txt || fail "perf.data"
grep -A 5 '"traces/00004' out | grep -q '"clock": "CLOCK_MONOTONIC"' || fail "$(cat out)"
run_says 1 "perf.data: its clock is monotonic, as the file says" align -o no.tar --clock raw perf.data
align rec.pftrace rec.json relative.json || fail "$(cat err)"
run 0 dump --json rec
traces own all.tar out >checked || fail "$(cat checked)"
end_by TERM "$pid" "the daemon" daemon.log
ok "our exports: $(cat checked)"
