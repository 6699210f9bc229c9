#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""doc.py DIR - check pages of HTML: each link to a file leads to one, and nothing that a
browser would load by itself is elsewhere. Prints faults; exit status 1 if there are any."""
import html.parser
import os
import sys
import urllib.parse

faults = 0


class Links(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name not in ("href", "src") or not value:
                continue
            url = urllib.parse.urlsplit(value)
            if url.scheme or url.netloc:
                if tag != "a":
                    self.fault("loads " + value)
            elif url.path and not os.path.exists(os.path.join(
                    os.path.dirname(self.path), urllib.parse.unquote(url.path))):
                self.fault("no such file: " + value)

    def fault(self, text):
        global faults
        faults += 1
        print("%s: %s" % (self.path, text))


nr = 0
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith(".html"):
            nr += 1
            Links(os.path.join(folder, name)).feed(open(os.path.join(folder, name)).read())
print(nr, "pages,", faults, "faults")
sys.exit(faults != 0 or not nr)
