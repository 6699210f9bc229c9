#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""livepage.py URL EVENTS [PNG]: opens the page of `trace-ctl cluster live` in Chromium while
events come, uses the mouse, and waits for the end, when each node has shown EVENTS events.
"""
import base64
import sys
import time

from reportpage import Browser, PIXELS, Failed, need


def wait(browser, what, expression):
    for _ in range(600):
        # Until the page is loaded, its names are not known.
        if browser.value(f"try {{ {expression} }} catch (_) {{ false }}"):
            return
        time.sleep(0.1)
    raise Failed(f"not true: {what}; " + "; ".join(browser.complaints()))


def use(browser):
    wait(browser, "events are drawn", "events.length > 50 && view.to > 0")
    pixels = browser.value(PIXELS % "chart")
    need(f"nothing is drawn: {pixels}", pixels["colours"] > 3 and pixels["drawn"] > 0.001)
    before = browser.value("view.to")
    time.sleep(0.5)
    need("the page does not follow", browser.value("view.to") > before + 1e8)
    x, y = browser.value("(() => { const b = canvas.getBoundingClientRect();"
                         "return [b.left + 600, b.top + 40]; })()")
    span = browser.value("view.span")
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
    wait(browser, "the wheel zooms", f"view.span < {span}")
    need("zooming stops it", not browser.value("view.paused"))
    browser.value("byId('pause').click()")
    before = browser.value("view.to")
    time.sleep(0.3)
    need("Pause does not stop it", browser.value("view.to") == before)
    browser.mouse("mousePressed", x, y, button="left", clickCount=1)
    browser.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
    browser.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    wait(browser, "a drag moves it", f"view.to < {before}")
    # An event, in the middle of the view
    found = browser.value("""(() => {
        const e = events[events.length - 1], b = canvas.getBoundingClientRect();
        view.to = e.t + view.span / 2;
        return [b.left + x(e.t), b.top + nodes[e.node].y + e.row * ROW + ROW / 2];
    })()""")
    browser.mouse("mouseMoved", *found)
    wait(browser, "a tip appears", "!tip.hidden && tip.textContent.includes('CPU')")
    browser.value("byId('pause').click()")
    need("Follow does not go on", not browser.value("view.paused"))


def main():
    url, number = sys.argv[1], int(sys.argv[2])
    browser = Browser(1200, 800, "127.0.0.1")
    try:
        browser.attach()
        browser.call("Page.navigate", url=url)
        use(browser)
        if len(sys.argv) > 3:
            shot = browser.call("Page.captureScreenshot")
            with open(sys.argv[3], "wb") as file:
                file.write(base64.b64decode(shot["data"]))
        wait(browser, "it ends", "byId('state').textContent === 'ended'")
        shown = browser.value("counts.map(c => c.shown)")
        drawn = browser.value("nodes.map((n, i) => events.filter(e => e.node === i).length)")
        need(f"other events: {shown}, {drawn}", set(shown) == set(drawn) == {number})
        text = browser.value("byId('nodes').innerText")
        need(f"table: {text}", text.count(str(number)) >= len(shown))
        bad = [b for b in browser.complaints() if not b.startswith("it asks for " + url)]
        need("the page complains: " + "; ".join(bad), not bad)
    except Failed as failure:
        sys.exit(f"{url}: {failure}")
    finally:
        browser.close()
    print(f"{sum(shown)} events shown in a browser")


if __name__ == "__main__":
    main()
