#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl cluster live: the events that its stream has, their times and their order,
# against what three nodes emitted; the page and who may read it; nodes that die or are
# hostile; the end, which leaves nothing. With BROWSER=1 (`make check-browser`), the page is
# used in a browser, too.
# test-wing: cluster
. "$(dirname "$0")/cluster.sh"
need curl pgrep
sock=$work/sock

# Runs a command when a reader has the begin of the stream.
cat >"$work/read_first" <<END
#!/bin/sh
until [ -s $work/stream ]; do sleep 0.05; done
exec "\$@"
END
# Emits until there is the file "enough".
cat >"$work/emit_on" <<END
#!/bin/sh
until [ -e $work/enough ]; do $emit 100 1 5000; done
END
chmod +x "$work/read_first" "$work/emit_on"
emitted() { awk -v of="$1:" '$1 == of && $2 == "emitted" { n += $3 } END { print n }' "$work/out"; }

# Begins a run; sets: run, url.
live() {	# ARGUMENT...
	rm -f "$work/err" "$work/stream" "$work/enough"
	"$ctl" cluster live "${nodes[@]}" --listen "unix:$sock" "$@" \
		>"$work/out" 2>"$work/err" & track run
	wait_for "the address is printed" has_url
	url=$(grep -o 'http://localhost/[0-9a-f]*/' "$work/err")
}
has_url() { grep -q 'http://localhost/[0-9a-f]*/' "$work/err" 2>/dev/null; }
ended() {	# STATUS
	exits "$1" wait "$run"
}
get() { curl -sS --unix-socket "$sock" --max-time 100 "$@"; }	# ARGUMENT...
code() { get -o "$work/body" -w '%{http_code}' "$@"; }		# ARGUMENT...
# Reads the stream to its end, or to a number of events.
read_stream() {	# [EVENTS]
	{ get -N "${url}events" 2>/dev/null | tee "$work/stream" || true; } |
		python3 "$here/live_read.py" "$@" >"$work/read" || fail "the stream: $(cat "$work/read" "$work/err")"
}
# Python: `s` is what live_read.py printed.
check() {	# CODE
	python3 - "$work/read" "$1" <<'END' || fail "$1: $(cat "$work/read" "$work/err")"
import json, sys
s = json.load(open(sys.argv[1]))
exec(sys.argv[2])
END
}
nothing_left() {
	[ -z "$(ls -A "$TMPDIR")" ] || fail "left on a node: $(ls -A "$TMPDIR")"
	[ ! -e "$sock" ] || fail "the socket is left"
	none_runs "$node_parts" || fail "a node's part still runs"
}

start_nodes

# --- all events, in order, soon ---------------------------------------------------------
# Cluster time is the time of this machine here. A quarter of a second is usual; a machine
# with other work may take ten times that.
come_soon() {
	rm -rf "$work/o"
	live -o "$work/o" -- "$work/read_first" "$emit" 500 1 5000
	[ "$(stat -c %a "$sock")" = 600 ] || fail "others may connect: $(stat -c %A "$sock")"
	read_stream 1000000 "$work/times"
	ended 0
	python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
sys.exit(not (s["delay_ns"] < 2.5e9 and s["delay_max_ns"] < 10e9 and
              all(c["behind_max_ns"] < 10e9 for c in s["counts"].values())))' "$work/read"
}
steadily come_soon || fail "events come late: $(cat "$work/read")"
check '
assert s["end"] and s["skipped"] == 0
assert s["events"] == {"alpha": 501, "beta": 501, "gamma": 501}, s["events"]
for c in s["counts"].values():
    assert c["shown"] == 501 and c["dropped"] == c["lost"] == 0 and c["ended"], c
    # When they were sent, the oldest events were that old, by the node that sent them.
    assert 0 < c["behind_max_ns"], c
for n in s["status"].values():
    assert n["state"] == "done" and n["events"] == 501 and n["lost"] == 0, n
for name in s["names"].values():
    assert name == {"every": 1, "tick": 500}, s["names"]
assert s["threads"] == ["emit"], s["threads"]
assert s["unknown"] == 0 and 0 < s["largest_bound_ns"] < 1e7
print("median delay %.0f ms, longest %.0f ms; bound %.1f us; %d of unknown order" % (
    s["delay_ns"] / 1e6, s["delay_max_ns"] / 1e6, s["largest_bound_ns"] / 1e3, s["unsure"]))
'
# The merged recording has all samples of the clocks. Between nodes, its times are the same,
# within the bounds of both. (They are CLOCK_REALTIME of alpha, which is not exactly the
# cluster's time, so those of alpha are what the others are compared with.)
"$ctl" dump --json --error "$work/o" >"$work/text" || fail "dump"
python3 - "$work/times" "$work/text" <<'END' || fail "times"
import bisect, json, sys
live = json.load(open(sys.argv[1]))
merged = {}
for line in open(sys.argv[2]):
    e = json.loads(line)
    merged.setdefault(e["node"], []).append((int(e["time_ns"]), e["error_ns"]))
master = [(b, a - b, bound + other)
          for (a, bound), (b, other) in zip(live["alpha"], merged["alpha"])]
most = 0
for name in live:
    assert len(live[name]) == len(merged[name]), name
    for (a, bound), (b, other) in zip(live[name], merged[name]):
        _, offset, error = master[min(bisect.bisect(master, (b,)), len(master) - 1)]
        ratio = abs(a - b - offset) / (bound + other + error + 20)
        assert ratio <= 1, (name, a, bound, b, other, offset, error)
        most = max(most, ratio if name != "alpha" else 0)
print("times differ from the merged ones by %.2f of the bounds at most" % most)
END
rm -rf "$work/o"
for i in alpha beta gamma; do
	shows "^$i: emitted 501 refused 0"
done
nothing_left

# --- more events than are sent: the others are counted, and in the recording; with a reader
# that leaves, one that comes late, and one that does not read -------------------------------
live -o "$work/o" --rate 200 -- "$work/read_first" "$emit" 20000 2
get -N "${url}events" 2>/dev/null | head -c 100 >"$work/text" || true
curl -sS --unix-socket "$sock" --max-time 100 -N "${url}events" >/dev/null & track still
suspend "$still"
read_stream
ended 0
{ kill -KILL "$still" && wait "$still"; } 2>/dev/null || true
check '
assert s["end"] and s["skipped"] == 0
for name, c in s["counts"].items():
    assert c["shown"] == s["events"][name] > 0, c
    assert c["dropped"] > 30000 and c["shown"] + c["dropped"] + c["lost"] == 40001, c
'
{ "$ctl" stat --json "$work/o" 2>/dev/null || true; } >"$work/stat"
holds "$work/stat" 'j["events"] == 3 * 40001 and len(j["nodes"]) == 3'
[ ! -e "$work/o.nodes" ] || fail "left: $work/o.nodes"
nothing_left

# --- the page, and who may read it -------------------------------------------------------------
live
[ "$(code -D "$work/head" "$url")" = 200 ] || fail "no page"
grep -qi "^Content-Security-Policy: default-src 'none'; style-src 'sha256-[^']*'; script-src 'sha256-[^']*'; connect-src 'self';" "$work/head" ||
	fail "policy: $(cat "$work/head")"
python3 - "$work/body" "$work/head" <<'END' || fail "the page's hashes"
import base64, hashlib, re, sys
page, head = open(sys.argv[1]).read(), open(sys.argv[2]).read()
for tag in "style", "script":
    text = re.search("<%s>(.*?)</%s>" % (tag, tag), page, re.S)[1]
    of = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert "%s-src 'sha256-%s'" % (tag, of) in head, tag
assert not re.search("(src|href)=|https?:", page), "something is loaded from elsewhere"
END
if command -v node >/dev/null; then
	node --check "$top/tools/wings/cluster/live/page/live.js" || fail "the script does not parse"
fi
for i in "http://localhost/" "http://localhost/${url: -33:32}" "${url}x" "${url%?????}0000/" \
	"http://localhost/$(printf '0%.0s' {1..32})/events"; do
	[ "$(code "$i")" = 404 ] || fail "$i: no 404: $(cat "$work/body")"
done
for i in evil.example localhost.evil.example 10.0.0.1:80; do
	[ "$(code -H "Host: $i" "$url")" = 403 ] || fail "host $i: no 403"
done
[ "$(code -H 'Host: 127.0.0.1:8080' "$url")" = 200 ] || fail "a forwarded port is refused"
for i in POST PUT DELETE HEAD; do
	[ "$(code --head -X $i "$url")" = 405 ] || fail "$i: no 405"
done
got=$(code -d x "$url" 2>/dev/null || true)
[ "$got" = 405 ] || [ "$got" = 000 ] || fail "a body: status $got"
# More streams than there may be
streams=()
for i in 1 2 3 4 5 6 7 8; do
	get -N "${url}events" >"$work/stream.$i" & streams+=($!)
done
begun() { [ "$(find "$work" -name 'stream.*' -size +0 | wc -l)" = 8 ]; }
wait_for "eight streams have begun" begun
[ "$(code "${url}events")" = 503 ] || fail "a ninth stream"
# Ctrl-C ends all; the readers get the end.
kill -INT "$run"
ended 0
wait "${streams[@]}" || fail "a stream was cut off"
tail -n 2 "$work/stream.8" | grep -q '"end":true}$' || fail "no end in the stream"
nothing_left

# loopback; addresses that are not
"$ctl" cluster live "${nodes[@]}" --listen 127.0.0.1:0 --duration 5 >"$work/out" \
	2>"$work/err" & track run
loopback() { grep -q 'live on http://127.0.0.1:[0-9]*/[0-9a-f]*/$' "$work/err"; }
wait_for "the address is printed" loopback
url=$(grep -o 'http://127[^ ]*' "$work/err")
curl -sS --max-time 60 -N "${url}events" >"$work/text" || fail "no stream on loopback"
tail -n 2 "$work/text" | grep -q '"end":true}$' || fail "no end of the stream on loopback"
ended 0
for i in 0.0.0.0:80 evil.example:80 127.0.0.1 unix: '*:80' "unix:$work/launch"; do
	exits 1 "$ctl" cluster live "${nodes[@]}" --listen "$i" 2>"$work/err"
	says "--listen .*: "
done
for i in '-f' '--timestamps system' '-p 1' '--rate 0' '--keep' '--shared /x'; do
	# shellcheck disable=SC2086
	exits 2 "$ctl" cluster live "${nodes[@]}" $i 2>"$work/err"
done
nothing_left

# --- a node that hangs delays the others by 0.4 s; what it has is late then -----------------
live -- "$work/emit_on"
read_stream & track reader
{ get -N "${url}events" 2>/dev/null || true; } |
	python3 "$here/live_read.py" 100 >"$work/text"
suspend "$(cat "$work/beta/pid")"
sleep 2
kill -CONT "$(cat "$work/beta/pid")"
touch "$work/enough"
wait "$reader" || fail "the reader"
ended 0
check '
assert s["end"] and s["events"] == {
    "alpha": '"$(emitted alpha)"', "beta": '"$(emitted beta)"', "gamma": '"$(emitted gamma)"'}, s["events"]
assert s["waited"] > 100, s["waited"]
assert s["counts"]["beta"]["late"] > 20, s["counts"]
print("a node hung for 2 s: the others were %.0f ms behind at most" %
    (max(s["behind_ns"]["alpha"], s["behind_ns"]["gamma"]) / 1e6))
'
nothing_left

# --- a node that dies is named; the others go on ------------------------------------------------
live -- "$work/emit_on"
n=200
has_beta() {
	read_stream $((n += 100))
	[ "$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["events"]["beta"])' "$work/read")" -gt 10 ]
}
wait_for "events of beta are in the stream" has_beta
kill -KILL "$(cat "$work/beta/pid")"
touch "$work/enough"
read_stream
ended 3
check '
assert s["end"]
assert s["status"]["beta"]["state"] == "failed" and "connection lost" in s["status"]["beta"]["why"]
assert s["events"]["alpha"] == '"$(emitted alpha)"', s["events"]
assert s["events"]["gamma"] == '"$(emitted gamma)"', s["events"]
assert 10 < s["events"]["beta"] and not s["counts"]["beta"]["ended"]
'
says 'beta: MISSING: connection lost'
# Its recorder ended the recording, and left it, as it is not known whether it is wanted.
wait_for "its recorder has ended" none_runs "$recorders/tsctrace-beta"
rm -rf "$TMPDIR"/tsctrace-beta-*
nothing_left

# The coordinator is killed: no recording is left, as there was to be none.
live
recording() { [ "$(find "$TMPDIR" -name .flushed | wc -l)" = 3 ]; }
wait_for "all nodes record" recording
kill_now "$run"
removed() { [ -z "$(ls -A "$TMPDIR")" ]; }
wait_for "the nodes have removed all" removed
rm -f "$sock"

# --- a hostile node -----------------------------------------------------------------------------
bad gamma <<<"exec python3 $here/hostile_node.py $("$ctl" --version) live"
live -- "$emit" 100 1 5000
read_stream
ended 3
check '
assert s["status"]["gamma"]["why"].startswith("its live events are damaged"), s["status"]
assert s["events"] == {"alpha": 101, "beta": 101, "gamma": 0}, s["events"]
'
good gamma
nothing_left

# --- a browser ------------------------------------------------------------------------------------
if [ -n "${BROWSER:-}" ]; then
	"$ctl" cluster live "${nodes[@]}" --listen 127.0.0.1:0 -- "$emit" 1200 1 10000 \
		>"$work/out" 2>"$work/err" & track run
	wait_for "the address is printed" loopback
	url=$(grep -o 'http://127[^ ]*' "$work/err")
	TMPDIR=$work timeout 300 python3 "$here/livepage.py" "$url" 1201 ||
		fail "in the browser"
	ended 0
	nothing_left
fi
