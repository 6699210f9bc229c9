#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl report sync: the pages of a child and of a master are well-formed, and
# errors are reported.
# test-wing: report
. "$(dirname "$0")/sync.sh"
# PATTERN COMMAND...: COMMAND must exit with 1 and an error that matches PATTERN
fails() {
	exits 1 "${@:2}" >"$work/out" 2>"$work/err"
	says "$1"
}

net alpha beta gamma
echo 'child beta 10.77.3.2' >"$work/alpha/conf"
printf 'name <&beta>\nmaster 10.77.3.1 minpoll -4 maxpoll -4\n' >"$work/beta/conf"
join alpha 10.77.3.1/24 beta 10.77.3.2/24
start alpha a1
start beta b2
wait_for "some exchanges" above beta 'p["sources"][0]["kept"]' 29

in_dir beta "$ctl" report sync -o "$work/page.html" || fail "no page"
in_dir alpha "$ctl" report sync >"$work/master.html" || fail "no page of a master"
grep -q 'it is the master' "$work/master.html" || fail "a source is shown for the master"
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

# --- errors ---------------------------------------------------------------------
fails 'No space left' in_dir beta "$ctl" report sync -o /dev/full
[ -c /dev/full ] || fail "it removed a device"
(
	ulimit -f 8
	trap '' XFSZ
	fails 'too large' in_dir beta "$ctl" report sync -o "$work/cut.html"
)
[ ! -e "$work/cut.html" ] || fail "an incomplete page is left"
fails 'tsctraced is not running' in_dir gamma "$ctl" report sync
fails 'No such file' in_dir beta "$ctl" report sync -o "$work/none/page.html"
: >"$work/gamma/conf"
start gamma
up() { ! in_dir gamma "$ctl" peers >"$work/out" 2>&1 && grep -q 'no network' "$work/out"; }
wait_for "a daemon without a network" up
fails 'no network is configured' in_dir gamma "$ctl" report sync
