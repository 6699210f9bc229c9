# SPDX-License-Identifier: MIT
"""Runs a program on a new terminal, types, and checks the terminal settings.

terminal.py COLUMNS ROWS TRANSCRIPT [TEXT KEYS]... -- PROGRAM ARGUMENT...

Types KEYS (with the escapes of a Python string: \\x03 is Ctrl-C) when TEXT has been
printed, after the previous TEXT; a TEXT of /PATTERN is a regular expression. TRANSCRIPT gets
the output of the program. A stopped program is continued. When it has stopped or ended, the
terminal settings must be the original ones. Exit status: the program's, or 128 + a signal's
number.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

LIMIT = 300


def die(why):
    sys.exit("terminal: " + why)


def pattern_of(text):
    return text[1:] if text.startswith(b"/") else re.escape(text)


class Terminal:
    def __init__(self, columns, rows, transcript, program):
        # The slave stays open: the terminal's input and settings outlive the program.
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.transcript = open(transcript, "wb", buffering=0)
        self.unseen = b""
        self.until = time.monotonic() + LIMIT
        self.child = os.fork()
        if not self.child:
            os.close(self.master)
            self.login()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execvp(program[0], program)

    def login(self):
        """In the child process: makes the slave its controlling terminal."""
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        for number in range(3):
            os.dup2(self.slave, number)
        os.close(self.slave)

    def read(self, seconds):
        while select.select([self.master], [], [], seconds)[0]:
            got = os.read(self.master, 65536)
            self.transcript.write(got)
            self.unseen += got
            seconds = 0

    def check(self, when):
        if termios.tcgetattr(self.slave) != self.before:
            die("terminal settings are changed when " + when)

    def ended(self):
        """The exit status, or None while the program runs."""
        pid, status = os.waitpid(self.child, os.WNOHANG | os.WUNTRACED)
        if not pid:
            return None
        if os.WIFSTOPPED(status):
            self.read(0)
            self.check("stopped")
            os.kill(self.child, signal.SIGCONT)
            return None
        self.read(0)
        self.check("ended")
        return os.waitstatus_to_exitcode(status)

    def run(self, script):
        while True:
            self.read(0.02)
            found = script and re.search(pattern_of(script[0][0]), self.unseen)
            if found:
                self.unseen = self.unseen[found.end():]
                os.write(self.master, script.pop(0)[1])
            status = self.ended()
            if status is not None:
                break
            if time.monotonic() > self.until:
                os.kill(self.child, signal.SIGKILL)
                die("timeout: the program did not end" if not script else
                    "timeout: never printed: %r" % script[0][0])
        if script:
            die("the program ended with %d, and never printed %r" % (status, script[0][0]))
        return status if status >= 0 else 128 - status


def main(arguments):
    at = arguments.index("--")
    columns, rows, transcript, *steps = arguments[:at]
    texts = [step.encode().decode("unicode_escape").encode() for step in steps]
    terminal = Terminal(int(columns), int(rows), transcript, arguments[at + 1:])
    return terminal.run(list(zip(texts[::2], texts[1::2])))


sys.exit(main(sys.argv[1:]))
