#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl report sync: a page that is well-formed, of a child, of a master; and
# what it says where there is nothing to draw.
# test-timeout: 60
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
out=${O:-$top/build}
daemon=$out/daemon/tsctraced ctl=$out/tools/trace-ctl
. "$top/tests/native/nets.sh"
work=$(mktemp -d)
trap 'nets_down; rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; tail -n 15 "$work"/*/log; exit 1; }
fails() {	# WORDS COMMAND...: status 1, and says so
	local got=0
	"${@:2}" >"$work/out" 2>"$work/err" || got=$?
	[ "$got" = 1 ] || fail "$2 ... $got, not 1"
	grep -q -- "$1" "$work/err" || fail "does not say $1: $(cat "$work/err")"
}
in_dir() { TSCTRACE_RUN_DIR=$work/$1 "${@:2}"; }

mkdir "$work/alpha" "$work/beta" "$work/gamma"
echo 'child beta 10.77.3.2' >"$work/alpha/conf"
printf 'name <&beta>\nmaster 10.77.3.1 minpoll -4 maxpoll -4\n' >"$work/beta/conf"
net alpha
net beta
join alpha 10.77.3.1/24 beta 10.77.3.2/24
for i in alpha beta; do
	in_net $i "$daemon" --no-module --run-dir "$work/$i" --config "$work/$i/conf" \
		--host-id "${#i}$(printf %x $RANDOM)" 2>"$work/$i/log"
done
for ((i = 0; i < 200; i++)); do
	in_dir beta "$ctl" peers --json >"$work/json" 2>/dev/null || true
	[ "$(grep -o '"kept": [0-9]*' "$work/json" | tr -dc 0-9)" -ge 30 ] 2>/dev/null &&
		break
	sleep 0.1
done

in_dir beta "$ctl" report sync -o "$work/page.html" || fail "no page"
in_dir alpha "$ctl" report sync >"$work/master.html" || fail "no page of a master"
grep -q 'it is the master' "$work/master.html" || fail "a master asks somebody"
python3 - "$work/page.html" "$work/master.html" <<'END' || fail "not well-formed"
import sys, xml.dom.minidom
for path in sys.argv[1:]:
    text = open(path).read().replace("<!DOCTYPE html>", "")
    for entity in ("&sigma;", "&#9679;", "&#9675;"):
        text = text.replace(entity, "x")
    text = text.replace("<meta charset='utf-8'>", "")
    page = xml.dom.minidom.parseString(text)
    for name in ("script", "link", "img", "iframe"):
        assert not page.getElementsByTagName(name), name
page = xml.dom.minidom.parseString(
    open(sys.argv[1]).read().replace("<!DOCTYPE html>", "")
    .replace("&sigma;", "x").replace("<meta charset='utf-8'>", ""))
assert page.getElementsByTagName("title")[0].firstChild.data.endswith("<&beta>")
marks = page.getElementsByTagName("circle")
assert len(marks) >= 50, len(marks)
assert len(page.getElementsByTagName("svg")) == 2
assert "NaN" not in page.toxml() and "inf" not in page.toxml().lower().replace("info", "")
END

# --- what goes wrong ------------------------------------------------------------
fails 'No space left' in_dir beta "$ctl" report sync -o /dev/full
[ -c /dev/full ] || fail "it removed a device"
(
	ulimit -f 8
	trap '' XFSZ
	fails 'too large' in_dir beta "$ctl" report sync -o "$work/cut.html"
)
[ ! -e "$work/cut.html" ] || fail "half a page is left"
fails 'no daemon is there' in_dir gamma "$ctl" report sync
fails 'No such file' in_dir beta "$ctl" report sync -o "$work/none/page.html"
"$daemon" --no-module --run-dir "$work/gamma" 2>"$work/gamma/log" &
pids+=($!)
for ((i = 0; i < 100; i++)); do
	[ ! -S "$work/gamma/control.sock" ] || break
	sleep 0.1
done
fails 'no network is configured' in_dir gamma "$ctl" report sync
