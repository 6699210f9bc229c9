# SPDX-License-Identifier: MIT
"""legs.py RELAY-LOG SAMPLES - prints on which legs the exchanges of a child spent time

RELAY-LOG: log of relay.c. SAMPLES: answers of tsctraced to "samples NUMBER", a line each.
Both have readings of one counter. A request (or answer) has three legs: from its transmit
time stamp to the relay, in the relay, from the relay to its receive time stamp. The
relay's leg is the planned delay and the time by which the departure was late. "paused"
packets follow the previous packet of that direction after more than 1 ms, "next" ones
follow it at once. The columns are medians and 99th percentiles in us."""
import bisect
import json
import pathlib
import sys

PAUSE_S = 1e-3


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


class Log:
    """The packets of a relay's log, by direction"""

    def __init__(self, path):
        self.packets = {"request": [], "answer": []}
        self.stalls = "no line of stalls"
        for line in pathlib.Path(path).read_text().splitlines():
            words = line.split()
            if line.startswith("# hz"):
                self.us = 1e6 / float(words[2])         # us per count
            elif line.startswith("# stalls"):
                self.stalls = line[2:]
            elif not line.startswith("#") and words[1] in "34":
                arrived, departed, planned = map(int, words[2:5])
                self.packets[words[0]].append((arrived, departed, planned / 1e3))
        self.arrivals = {kind: [p[0] for p in packets]
                         for kind, packets in self.packets.items()}

    def late_us(self):
        """Actual less planned delays of all packets"""
        return [(departed - arrived) * self.us - planned
                for packets in self.packets.values()
                for arrived, departed, planned in packets if departed]

    def find(self, kind, sent, received):
        """The packet with these time stamps, and if it came after a pause"""
        i = bisect.bisect_left(self.arrivals[kind], sent)
        packets = self.packets[kind]
        # Packets can overtake each other: the packet is the one that fits best.
        fits = [j for j in range(i, min(i + 4, len(packets)))
                if packets[j][1] and packets[j][1] <= received]
        if not fits:
            return None
        best = min(fits, key=lambda j: packets[j][0] - sent + received - packets[j][1])
        paused = not best or (packets[best][0] - packets[best - 1][0]) * self.us > 1e6 * PAUSE_S
        return packets[best], paused


def exchanges(path):
    """(t1, t2, t3, t4) of all exchanges"""
    for line in pathlib.Path(path).read_text().splitlines():
        for sample in json.loads(line)["samples"]:
            yield sample[2:6]


def legs(log, samples):
    """{(direction, "paused" or "next"): [(to relay, planned, late, from relay)]}, in us,
    and the number of exchanges without a packet in the log"""
    found, missing = {}, 0
    for t1, t2, t3, t4 in samples:
        for kind, sent, received in (("request", t1, t2), ("answer", t3, t4)):
            match = log.find(kind, sent, received)
            if not match:
                missing += 1
                continue
            (arrived, departed, planned), paused = match
            relayed = (departed - arrived) * log.us
            found.setdefault((kind, "paused" if paused else "next"), []).append(
                ((arrived - sent) * log.us, planned, relayed - planned,
                 (received - departed) * log.us))
    return found, missing


def text(log, samples):
    """Lines with the medians and 99th percentiles of all legs"""
    found, missing = legs(log, samples)
    yield (f"{'':16} {'number':>6} {'stamp to relay':>16} {'planned':>18} "
           f"{'late':>14} {'relay to stamp':>16}")
    for key, rows in sorted(found.items(), reverse=True):
        columns = [f"{quantile(c, .5):.2f}/{quantile(c, .99):.2f}" for c in zip(*rows)]
        yield (f"{' '.join(key):16} {len(rows):6} {columns[0]:>16} {columns[1]:>18} "
               f"{columns[2]:>14} {columns[3]:>16}")
    if missing:
        yield f"{missing} packets of exchanges are not in the log"


if __name__ == "__main__":
    LOG = Log(sys.argv[1])
    print(LOG.stalls)
    print("\n".join(text(LOG, exchanges(sys.argv[2]))))
