#!/bin/bash
# SPDX-License-Identifier: MIT
# System calls in recordings read as strace prints them, in dump, report and exports;
# the same values of a program's own events are plain numbers.
# test-wing: strace
. "$(dirname "$0")/record.sh"

calls=$helpers/calls
mkdir "$work/a"
command -v strace >/dev/null || skip "strace is not installed"
strace -e verbose=none -o "$work/strace" "$calls" "$work/a" ||
	skip "strace may not trace here"

# Prints the calls between the two marks. strace explains some results, and constants
# without a name, in words; the columns of results differ.
marked() {	# FILE
	sed -n '/chdir("\/begin")/,/chdir("\/end")/p' "$1" | sed -E 's/ +=/ =/' |
		sed -E 's| /\* [A-Z_?]+ \*/||; s/(= [0-9].*) \([^)]*\)$/\1/'
}
run 0 dump --strace "$work/a"
sed -E 's/^[^]]*\] *[0-9]* //; s/ <[0-9.]*>$//' "$work/out" >"$work/lines"
marked "$work/strace" >"$work/want"
marked "$work/lines" >"$work/got"
[ "$(wc -l <"$work/want")" -gt 90 ] || fail "strace printed $(wc -l <"$work/want") lines"
diff "$work/want" "$work/got" || fail "not the lines of strace"
shows '^00:00:00.001000000 \[000\] .* openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3 <0.000001500>$'

# Lines of events, and JSON with numbers and texts
run 0 dump -n 6 "$work/a"
shows 'sys_openat/begin .*dfd=AT_FDCWD filename="/etc/passwd" flags=O_RDONLY|O_CLOEXEC mode=000$'
shows 'sys_openat/end .*ret=3$'
shows 'sys_openat/end .*ret=-ENOENT$'
run 0 dump --json -n 6 "$work/a"
shows '"fields":{"dfd":-100,"filename":"/etc/passwd","flags":524288,"mode":0},"decoded":{"dfd":"AT_FDCWD","flags":"O_RDONLY|O_CLOEXEC","mode":"000"}}$'
shows '"fields":{"ret":3}}$'
shows '"fields":{"ret":-2},"decoded":{"ret":"-ENOENT"}}$'
run 0 dump --json --event sys_utimensat "$work/a"
shows '"decoded":{"filename":"NULL","utimes":"NULL"'
run 0 dump --event sys_openat --raw "$work/a"
tail -n 1 "$work/out" | grep -q 'sys_openat/begin .*dfd=-100 flags=524288$' ||
	fail "a program's own event sys_openat is decoded"
python3 -c '
import json, sys
for line in open(sys.argv[1]):
	json.loads(line)
' <("$ctl" dump --json "$work/a") || fail "JSON"

# A call that has begun, and one whose begin was before the first event selected
run 0 dump --strace --event sys_brk/begin --event sys_listen/end "$work/a"
shows ' brk(NULL <unfinished ...>$'
shows ' <... listen resumed>) = -1 EBADF (Bad file descriptor)$'
run_says 2 'exclude each other' dump --strace --json "$work/a"

# Calls, those that returned an error, and times
run_shows 0 '^openat  *4  *2  *0.006  *1.500  *1.500$' stat "$work/a"

# Exports for viewers and the report have the texts, exports for programs the numbers.
for format in text json perfetto csv ctf; do
	run 0 export -f "$format" -o "$work/a.$format" "$work/a"
done
grep -q 'flags=O_RDONLY|O_CLOEXEC' "$work/a.text" || fail "text"
grep -q '"flags":"O_RDONLY|O_CLOEXEC"' "$work/a.json" || fail "JSON of Chrome"
grep -aq 'O_RDONLY|O_CLOEXEC' "$work/a.perfetto" || fail "Perfetto"
grep -q ',524288,' "$work/a.csv" || fail "CSV"
babeltrace2 "$work/a.ctf" >"$work/out" 2>"$work/err" || fail "CTF"
shows 'flags = 524288'
run 0 report -o "$work/a.html" "$work/a"
python3 - "$work/a.html" <<'END' || fail "report"
import base64, re, sys
page = open(sys.argv[1]).read()
spans = base64.b64decode(re.search(r'id="spans"[^>]*>([^<]*)<', page)[1])
assert b'AT_FDCWD\0"/etc/passwd"\0O_RDONLY|O_CLOEXEC\x00000\0' in spans, spans[:400]
assert b"-ENOENT\0" in spans
END
