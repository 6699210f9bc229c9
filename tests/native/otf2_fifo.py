#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""otf2_fifo.py ARCHIVE - pair the MPI messages of an OTF2 archive as readers do that know
no numbers of messages: those of one stream (communicator, sender, receiver, tag) in the order
in which they were sent, and in which their receives were posted. Prints the number of pairs;
fails if the two ends of a pair have other lengths, a receive was never posted, or what completes
is no nonblocking send, or completes twice.
"""
import sys
from collections import defaultdict

import otf2
from otf2.events import (MpiIrecv, MpiIrecvRequest, MpiIsend, MpiIsendComplete, MpiRecv,
                         MpiSend)


def main():
    sends, receives = defaultdict(list), defaultdict(list)
    posted, faults, kinds = {}, [], defaultdict(int)
    incomplete = set()
    with otf2.reader.open(sys.argv[1]) as trace:
        for order, (location, event) in enumerate(trace.events):
            kinds[type(event).__name__] += 1
            if isinstance(event, MpiIrecvRequest):
                posted[location.group, event.request_id] = order
                continue
            if isinstance(event, MpiIsendComplete):
                if (location.group, event.request_id) not in incomplete:
                    faults.append(f"request {event.request_id} completes, but is no send")
                incomplete.discard((location.group, event.request_id))
                continue
            if isinstance(event, MpiIsend):
                if (location.group, event.request_id) in incomplete:
                    faults.append(f"two sends have request {event.request_id}")
                incomplete.add((location.group, event.request_id))
            if not isinstance(event, (MpiSend, MpiIsend, MpiRecv, MpiIrecv)):
                continue
            members = [m.group for m in event.communicator.group.members]
            own = members.index(location.group)
            if isinstance(event, (MpiSend, MpiIsend)):
                stream = (event.communicator, own, event.receiver, event.msg_tag)
                sends[stream].append((order, event.msg_length))
                continue
            if isinstance(event, MpiIrecv):
                order = posted.pop((location.group, event.request_id), None)
                if order is None:
                    faults.append(f"request {event.request_id} was never posted")
                    continue
            stream = (event.communicator, event.sender, own, event.msg_tag)
            receives[stream].append((order, event.msg_length))
    pairs = unequal = 0
    for stream in sends.keys() | receives.keys():
        ends = sorted(sends[stream]), sorted(receives[stream])
        if len(ends[0]) != len(ends[1]):
            faults.append(f"{len(ends[0])} sends, {len(ends[1])} receives of {stream[1:]}")
        for (_, sent), (_, received) in zip(*ends):
            pairs += 1
            unequal += sent != received
    print("pairs", pairs, "unequal", unequal, "incomplete", len(incomplete), dict(kinds))
    sys.exit("\n".join(faults) if faults else bool(unequal))


main()
