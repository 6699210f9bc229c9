#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""reportpage.py PAGE [PNG [WIDTH HEIGHT]]: opens a page of `trace-ctl report` in
Chromium, uses keyboard and mouse, and checks the drawing.

The browser has no network, and is controlled by a pipe. Console messages other than
plain logs are errors, as are requests other than for the page itself. Options in the
environment: DARK=1, KEEP=#t=FROM,TO.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time


class Browser:
    def __init__(self, width, height, host="none"):     # the only one that it reaches
        self.home = tempfile.mkdtemp()
        ours, theirs_in = os.pipe(), os.pipe()
        name = next((n for n in ("chromium", "chromium-browser", "google-chrome")
                     if shutil.which(n)), None)
        if not name:
            sys.exit("no chromium")

        def wire():
            # Chromium reads fd 3 and writes fd 4: move the pipes off these numbers.
            a, b = os.dup(ours[0]), os.dup(theirs_in[1])
            a, b = os.dup(a), os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [name, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update",
             "--disable-dev-shm-usage",
             f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {host}",
             f"--window-size={width},{height}", f"--user-data-dir={self.home}",
             "about:blank"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(ours[0])
        os.close(theirs_in[1])
        self.write_fd, self.read_fd = ours[1], theirs_in[0]
        self.buffer, self.number, self.events = b"", 0, []
        self.session = None

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.read_fd, 1 << 20)
            if not more:
                raise EOFError("the browser went away")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_fd, data):]
        while True:
            answer = self.receive(60)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key,
                      **({"text": key} if len(key) == 1 and kind == "keyDown" else {}))

    def settle(self):
        self.value("new Promise(done => requestAnimationFrame(() => "
                   "requestAnimationFrame(done)))")

    def complaints(self):
        bad = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                bad.append(json.dumps(params["exceptionDetails"])[:600])
            elif method == "Log.entryAdded" and params["entry"]["level"] in (
                    "error", "warning") and "willReadFrequently" not in \
                    params["entry"]["text"]:     # caused by PIXELS below
                bad.append(json.dumps(params["entry"])[:600])
            elif method == "Runtime.consoleAPICalled" and params["type"] not in (
                    "log", "info", "debug"):
                bad.append(json.dumps(params)[:600])
            elif method == "Network.requestWillBeSent" and not \
                    params["request"]["url"].startswith(("file:", "about:", "data:")):
                bad.append("it asks for " + params["request"]["url"][:200])
        return bad

    def close(self):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


# The number of colours in a canvas, and the fraction of pixels not in background colour
PIXELS = """(() => {
    const c = document.getElementById(%r);
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    const seen = new Map();
    for (let i = 0; i < d.length; i += 4) {
        const k = d[i] << 16 | d[i + 1] << 8 | d[i + 2];
        seen.set(k, (seen.get(k) || 0) + 1);
    }
    const most = Math.max(...seen.values());
    return { colours: seen.size, drawn: 1 - most / (d.length / 4) };
})()"""

# JavaScript: finds a point of the report's canvas where something of a kind, as
# "arrow", is drawn. Returns the coordinates of the point on the page, or null.
FIND = """(() => {
    const box = canvas.getBoundingClientRect();
    for (let y = View.top; y < View.height; y += 4)
        for (let x = View.label + 2; x < View.width; x += 3) {
            const hit = pick(x, y);
            if (hit.%s !== undefined)
                return [box.left + x, box.top + y];
        }
    return null;
})()"""


class Failed(Exception):
    pass


def need(what, condition):
    if not condition:
        raise Failed(what)


def look(browser):
    for canvas in ("timeline", "rates"):
        pixels = browser.value(PIXELS % canvas)
        need(f"{canvas} is empty: {pixels}", pixels["colours"] > 4 and
             pixels["drawn"] > 0.001)


# Each event is either shown or summed up, and all shown events are in the data.
def count(browser):
    sums = browser.value("""({
        events: D.events, shown: D.shown, summed: D.summed,
        rates: D.rates.total.reduce((a, b) => a + b, 0),
        strips: STRIPS.filter(s => s.type < STRIP_COUNTER).reduce((n, s) =>
            n + s.bins.reduce((m, b) => m + b.count, 0), 0),
        told: M.n + [...S.type].reduce((n, t, i) => n +
            spanEdges(i).filter(e => e).length, 0) })""")
    need(f"sums differ: {sums}", sums["shown"] + sums["summed"] == sums["events"] and
         sums["rates"] == sums["events"] and sums["strips"] == sums["summed"] and
         sums["told"] == sums["shown"])
    return sums


def use(browser):
    whole = browser.value("[View.from, View.to]")
    left, top = browser.value("(() => { const b = canvas.getBoundingClientRect();"
                              "return [b.left, b.top]; })()")
    width, label = browser.value("[View.width, View.label]")
    x, y = left + (label + width) / 2, top + 110

    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
    browser.settle()
    now = browser.value("[View.from, View.to]")
    need(f"the wheel does not zoom: {now}", now[1] - now[0] < 0.8 * (whole[1] - whole[0]))
    browser.mouse("mousePressed", x, y, button="left", clickCount=1)
    browser.mouse("mouseMoved", x - 100, y, button="left")
    browser.mouse("mouseReleased", x - 100, y, button="left", clickCount=1)
    browser.settle()
    moved = browser.value("View.from")
    need("dragging does not pan", moved > now[0])
    for key, test in (("w", "<"), ("s", ">"), ("+", "<"), ("-", ">")):
        before = browser.value("View.to - View.from")
        browser.key(key)
        browser.settle()
        need(f"{key} does not zoom", eval(f"{browser.value('View.to - View.from')} "
                                          f"{test} {before}"))
    before = browser.value("View.from")
    browser.key("d")
    need("d does not pan", browser.value("View.from") > before)
    browser.key("0")
    browser.settle()
    need("0 does not show all", browser.value("[View.from, View.to]") == whole)


def point(browser, kind):
    if kind == "arrow":      # drawn only if zoomed in
        browser.value("A.n && setView(Math.min(A.from[0], A.to[0]) - 1000, "
                      "Math.max(A.from[0], A.to[0]) + 1000)")
        browser.settle()
    found = browser.value(FIND % kind)
    if not found:
        return None
    browser.mouse("mouseMoved", *found)
    browser.settle()
    need(f"no tip at a {kind}", not browser.value("tip.hidden") and
         len(browser.value("tip.textContent")) > 20)
    browser.mouse("mousePressed", *found, button="left", clickCount=1)
    browser.mouse("mouseReleased", *found, button="left", clickCount=1)
    browser.settle()
    details = browser.value("document.getElementById('details').innerText")
    need(f"no details of a {kind}", len(details) > 20)
    browser.key("0")
    return details


def fold(browser):
    rows = browser.value("View.rows.length")
    browser.value("document.getElementById('fold').click()")
    browser.settle()
    need("nodes do not fold", browser.value("View.rows.length") < rows)
    look(browser)
    browser.value("document.getElementById('fold').click()")


# Threads of a process fold into its row, and a match or a length unfolds them.
def processes(browser):
    groups = browser.value("View.rows.filter(r => r.type === 'process').map(r => r.rows.length)")
    grouped = browser.value("""(() => {
        const n = new Map();
        for (const row of View.rows)
            if (row.type === "thread" && row.thread.process) {
                const key = row.node + "/" + row.thread.process;
                n.set(key, (n.get(key) || 0) + 1);
            }
        return [...n.values()].filter(v => v > 1);
    })()""")
    need(f"groups of processes: {groups}, not {grouped}", sorted(groups) == sorted(grouped))
    if not groups:
        return
    rows = browser.value("View.rows.length")
    browser.value("document.getElementById('fold-processes').click()")
    browser.settle()
    need("processes do not fold", browser.value("View.rows.length") == rows - sum(groups))
    look(browser)
    browser.value("showRow(View.byThread.get(View.rows.find(r => r.rows && r.group === undefined &&"
                  " r.type === 'process').rows[0].index))")
    need("a row does not unfold its process", browser.value("View.rows.length") > rows - sum(groups))
    browser.value("document.getElementById('fold-processes').click();"
                  "document.getElementById('fold-processes').click()")
    need("processes do not unfold", browser.value("View.rows.length") == rows)


# A click on a box of a flame graph makes it as wide as the graph; what it had aside is hidden.
def flame(browser):
    return browser.value("""(() => {
        const svg = document.querySelector(".flame svg");
        if (!svg)
            return "";
        const boxes = [...svg.querySelectorAll("g")], rect = box => box.querySelector("rect");
        const at = box => ["x", "width"].map(name => Number(rect(box).getAttribute(name)));
        const before = boxes.map(at), whole = svg.viewBox.baseVal.width;
        const i = boxes.findIndex((_, k) => before[k][1] < whole / 2);
        if (i < 0)
            return "";
        const click = box => rect(box).dispatchEvent(new MouseEvent("click", { bubbles: true }));
        click(boxes[i]);
        const [x, width] = at(boxes[i]), end = before[i][0] + before[i][1];
        if (Math.abs(x) > 0.1 || Math.abs(width - whole) > 0.1)
            return `the box is at ${x}, ${width} wide`;
        const aside = boxes.filter((_, k) => before[k][0] >= end - 0.01 ||
            before[k][0] + before[k][1] <= before[i][0] + 0.01);
        if (aside.some(box => getComputedStyle(box).display !== "none"))
            return "boxes aside are visible";
        click(boxes[0]);
        const after = boxes.map(at);
        return after.every((a, k) => Math.abs(a[0] - before[k][0]) < 0.1 &&
            Math.abs(a[1] - before[k][1]) < 0.1) ? "" : "the whole graph does not come back";
    })()""")


# All spans have a lane, however deep they are; a bar of sums ends with its bin; slices that are called
# "idle" are drawn, other than idle CPUs; a link with numbers out of range shows something; the span
# at the pointer is picked, not one beside it.
EDGES = """(() => {
    const rows = View.nodes.flatMap(allRows), lanes = rows.flatMap(row => row.lanes || []);
    const drawn = lanes.reduce((n, lane) => n + (lane ? lane.ids.length : 0), 0);
    const width = D.binWidth, was = fill, rects = [];
    if (drawn !== S.n)
        return `${drawn} of ${S.n} spans have a lane`;
    for (const { ids, from, to } of lanes.filter(lane => lane)) {
        const apart = from.every((t, k) => !k || t >= to[k - 1]);
        for (let k = 0; apart && k < Math.min(ids.length, 200); k++) {
            const x = View.x((from[k] + to[k]) / 2), i = pickSpan({ ids, from, to }, x);
            if (to[k] - from[k] > 4 && !(S.from[i] <= View.t(x) && View.t(x) <= S.to[i]))
                return `at span ${ids[k]}, span ${i} is picked`;
        }
    }
    fill = (colour, x, y, w) => rects.push(x + w);
    for (const row of rows) {
        const bin = row.strip ? row.strip.count.findIndex((n, i) => n && !row.strip.count[i + 1]) : -1;
        if (bin < 0)
            continue;
        View.from = (bin + 0.5) * width;
        View.to = (bin + 1.5) * width;
        drawStrip(row.strip, 0, 13);
        if (rects.splice(0).some(x => x > View.x((bin + 1) * width) + 1) && !row.strip.busy[bin + 1])
            return "a bar is longer than its bin";
        const through = row.strip.busy.findIndex((busy, i) => busy && !row.strip.count[i]);
        if (through < 0)
            continue;
        View.from = View.to = (through + 0.5) * width;
        drawStrip(row.strip, 0, 13);
        if (!rects.splice(0).length)
            return "spans that neither begin nor end in a bin are not drawn";
    }
    View.from = -1e6 * D.span;
    View.to = 1e6 * D.span;
    for (const lane of lanes.filter(lane => lane && (S.type[lane.ids[0]] & 3) === SPAN_SLICE))
        drawLane(lane, 0, 13);
    const slices = rects.length;
    fill = was;
    history.replaceState(null, "", "#t=-" + "9".repeat(400) + "," + "9".repeat(400));
    showLinked();
    if (!isFinite(View.from))
        return "a link leads nowhere";
    showAll();
    return S.type.some(type => (type & 3) === SPAN_SLICE) && !slices ? "no slice is drawn" : "";
})()"""


# A click on a length of a table shows the span.
def lengths(browser):
    for at in range(browser.value("document.querySelectorAll('[data-span]').length")):
        span = browser.value(f"""(() => {{
            const button = document.querySelectorAll('[data-span]')[{at}];
            View.chosen = null;
            button.click();
            return button.dataset.span.split(",").map(Number);
        }})()""")
        view = browser.value("[View.from, View.to]")
        need(f"a click does not zoom to {span}: {view}", view[0] <= span[1] and
             span[1] + span[2] <= view[1] and view[1] - view[0] <= max(1.4 * span[2], 21))
        shared = browser.value(f"D.threads[{span[0]}].tid < 0")
        need(f"a click does not select {span}", shared or browser.value(
            "View.chosen === S && [S.row[View.chosenIndex], S.from[View.chosenIndex],"
            "S.to[View.chosenIndex] - S.from[View.chosenIndex]]") == span)
    browser.key("0")


def find(browser):
    name = browser.value("NAMES[S.n ? S.rank[0] : M.rank[0]]")
    part = browser.value(f"search({json.dumps(name)}), byId('found').textContent")
    need(f"{part}, of how many?", part.endswith("drawn individually") == browser.value("D.summed > 0"))
    browser.value(f"document.getElementById('search').value = {json.dumps(name)};"
                  f"search({json.dumps(name)}); nextMatch(1)")
    browser.settle()
    need("a name is not found",
         " of " in browser.value("document.getElementById('found').textContent"))
    browser.key("Escape")


# A search finds each event that is drawn with a value of a field, and no other; TOLD is counted here.
TOLD = """(() => {
    const events = [], add = (edge, hit) => edge && fieldsOf(edge).forEach(field =>
        field[0] && field[2] !== undefined && events.push([field[0], field[1], hit]));
    for (let i = 0; i < S.n; i++)
        spanEdges(i).forEach(edge => add(edge, "s" + i));
    for (let i = 0; i < M.n; i++)
        add(momentEdge(i), "m" + i);
    return events.slice(0, 20000);
})()"""


def fields(browser):
    values = {}
    all_fields = browser.value(TOLD)
    for name, text, hit in all_fields:
        values.setdefault((name.lower(), text.lower()), set()).add(hit)
    if not values or len(all_fields) == 20000:
        return 0
    (name, text), hits = min(values.items(), key=lambda item: (len(item[1]), item))
    browser.value(f"search({json.dumps(name + '=' + text)}); nextMatch(1)")
    browser.settle()
    found = browser.value("View.matches.list.map(m => m.span === undefined ? 'm' + m.moment :"
                          " 's' + m.span)")
    need(f"{name}={text}: found {found[:9]}, of {hits}", hits <= set(found) and
         len(found) == len(set(found)))
    need("the match is not chosen", browser.value("(View.chosen === S ? 's' : 'm') +"
                                                  " View.chosenIndex") in found)
    extra = set(found) - hits
    need(f"{name}={text} is not in {extra}", browser.value(
        f"{json.dumps(sorted(extra))}.every(x => (x[0] === 's' ? spanEdges(+x.slice(1)) :"
        f" [momentEdge(+x.slice(1))]).some(e => e && fieldsOf(e).some(f =>"
        f" f[2] === undefined && f[1].toLowerCase().includes({json.dumps(text)}) ||"
        f" f[0].toLowerCase() === {json.dumps(name)} && String(f[2]) === {json.dumps(text)})))"))
    browser.value(f"search({json.dumps('no such ' + text)}); nextMatch(1)")
    # Events in sums cannot be searched: the page does not state that none of them matches.
    need("it finds what is not there",
         browser.value("document.getElementById('found').textContent ==="
                       " (D.summed ? 'none drawn individually' : 'none')"))
    browser.key("Escape")
    return len(hits)


# Time per frame in ms at many zoom levels: median and 95th percentile
def frame(browser):
    return browser.value("""(() => {
        const times = [];
        for (let i = 0; i < 60; i++) {
            const size = D.span * Math.pow(0.8, i % 30);
            View.from = D.span / 3 - size / 3; View.to = View.from + size;
            const t = performance.now();
            draw();
            ctx.getImageData(0, 0, 1, 1);
            times.push(performance.now() - t);
        }
        showAll();
        times.sort((a, b) => a - b);
        return [times[30], times[57]];
    })()""")


def main():
    page = os.path.abspath(sys.argv[1])
    png = sys.argv[2] if len(sys.argv) > 2 else None
    width, height = (int(a) for a in sys.argv[3:5]) if len(sys.argv) > 4 else (1400, 1000)
    browser = Browser(width, height)
    try:
        browser.attach()
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=width < 600)
        if os.environ.get("DARK"):
            browser.call("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": "dark"}])
        browser.call("Page.navigate", url="file://" + page + os.environ.get("KEEP", ""))
        for _ in range(300):
            if browser.value("document.readyState") == "complete":
                break
            time.sleep(0.1)
        browser.settle()
        need("the script did not run: " + str(browser.complaints()), browser.value(
            "document.documentElement.classList.contains('ready')"))
        if png:
            act = os.environ.get("ACT")
            if act:
                browser.value(act)
            if os.environ.get("POINT"):
                print(point(browser, os.environ["POINT"]))
            if os.environ.get("HOVER"):
                browser.mouse("mouseMoved", *eval(os.environ["HOVER"]))
            browser.settle()
            time.sleep(0.3)
            shot = browser.call("Page.captureScreenshot", captureBeyondViewport=bool(
                os.environ.get("WHOLE")))
            with open(png, "wb") as file:
                file.write(base64.b64decode(shot["data"]))
        else:
            look(browser)
            sums = count(browser)
            edges = browser.value(EDGES)
            need(f"edges: {edges}", not edges)
            use(browser)
            told = [kind for kind in ("span", "moment", "arrow", "gap", "strip",
                                          "state", "stateBin")
                    if point(browser, kind)]
            need("nothing can be pointed at", told or not sums["events"])
            if sums["events"]:
                fold(browser)
                processes(browser)
                need("flame graph: " + (flame(browser) or "fine"), not flame(browser))
                find(browser)
                fields(browser)
                lengths(browser)
            median, most = frame(browser)
            print(f"events {sums['events']} shown {sums['shown']} summed "
                  f"{sums['summed']} frame_ms {median:.1f} slow_frame_ms {most:.1f} "
                  f"told {','.join(told)}")
        bad = browser.complaints()
        need("the page complains: " + "; ".join(bad), not bad)
    except (Failed, RuntimeError, TimeoutError, EOFError) as why:
        print(f"{page}: {why}")
        sys.exit(1)
    finally:
        browser.close()


if __name__ == "__main__":
    main()
