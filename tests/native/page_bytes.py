# SPDX-License-Identifier: MIT
"""Reads the packed numbers of a page of `trace-ctl report`."""
import base64
import struct


class Bytes:
    def __init__(self, text):
        self.data, self.at = base64.b64decode(text, validate=True), 0

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def edge(self, cut):
        cpu, number, length = self.varint(), self.varint(), self.varint()
        kept = min(length, cut)
        self.at += kept
        return cpu, number, length, self.data[self.at - kept:self.at]

    def float(self):
        self.at += 4
        return struct.unpack("<f", self.data[self.at - 4:self.at])[0]
