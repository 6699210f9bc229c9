#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""members.py SERVER ADDRESS... ROUNDS

Acts as two members of SERVER, by the text of Documentation/protocol.rst, from two addresses.
The first one reports ROUNDS times for 400 ms that callers wait, with pauses of 1.2 s.
Prints the number of poll requests that the second one gets meanwhile.
"""
import os
import socket
import struct
import sys
import time

FIELD = struct.Struct(">HH4sHHHHQQQQIIIIQQQQIIIIQqQQQQ")
REQUEST, ANSWER, POLL_REQUEST = 3, 4, 5
ARRIVED = 0x100


class Member:
    """Sends requests, each with the tx and the barrier of the last answer"""
    def __init__(self, server, address, node):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 0))
        self.socket.settimeout(0.02)
        self.server, self.node = (server, 123), node
        self.tx = self.barrier = self.polls = 0

    def send(self, flags):
        header = bytes([4 << 3 | REQUEST, 0, 6, 32]) + bytes(36) + os.urandom(8)
        field = FIELD.pack(0xf5c7, FIELD.size, b"TSCT", 1, flags, 0, 0, self.node, self.node,
                           0, int.from_bytes(os.urandom(8), "big") | 1, 0, 0, 0, self.barrier,
                           0, self.tx, *[0] * 12)
        self.socket.sendto(header + field, self.server)

    def receive(self):
        """Receives what has arrived, for 20 ms after the last packet."""
        while True:
            try:
                packet = self.socket.recv(512)
            except socket.timeout:
                return
            if packet[0] & 7 == POLL_REQUEST:
                self.polls += 1
            elif packet[0] & 7 == ANSWER:
                field = FIELD.unpack_from(packet, 48)
                self.barrier, self.tx = field[14] or self.barrier, field[16]


def main():
    server, first, second, rounds = sys.argv[1:]
    caller, other = Member(server, first, 1001), Member(server, second, 1002)
    end = time.monotonic() + 300
    for member in caller, other:
        sent = 0
        while sent < 2 or not (member.tx and member.barrier):
            assert time.monotonic() < end, "no answer"
            member.send(0)
            member.receive()
            sent += 1
    for _ in range(int(rounds)):
        for _ in range(8):
            caller.send(ARRIVED)
            caller.receive()
            time.sleep(0.03)
        time.sleep(1.2)
    other.receive()
    print(other.polls)


main()
