# SPDX-License-Identifier: MIT
"""samples.py SOCKET [NUMBER] - prints tsctraced's log of exchanges after NUMBER (0), a
line per answer"""
import json
import socket
import sys


def ask(path, request):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(request.encode() + b"\n")
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()


number = int(sys.argv[2]) if len(sys.argv) > 2 else 0
while True:
    text = ask(sys.argv[1], f"samples {number}")
    answer = json.loads(text)
    print(json.dumps(answer))
    if not answer["samples"] or answer["samples"][-1][0] >= answer["last"]:
        break
    number = answer["samples"][-1][0]
