# SPDX-License-Identifier: MIT
"""Recordings read in Python: events, spans, system calls, states of threads, and SQL.

    with tsctrace.open("out") as recording:
        for event in recording.events(name="job", start="+1.5"):
            print(event["time_ns"], event["thread"], event["fields"])
        slow = recording.query("SELECT name, max(duration_ns) AS ns FROM spans GROUP BY name")
        for row in slow:
            print(row["name"], row["ns"])
        if slow.incomplete:
            print("events are missing:", slow.incomplete)

Rows are dicts, with the columns that trace-ctl-query(1) and Documentation/query.rst describe as
keys; None is unknown. They come from `trace-ctl query` in a child process, which reads the
recording in place: memory does not grow with the number of rows, and a reader that stops early
ends the process. Integers are exact, text is str, bytes that are not UTF-8 become U+FFFD.
"""

import json
import os
import weakref
from typing import Any, Dict, Generic, Iterable, Iterator, List, Optional, TypedDict, TypeVar, Union

CHUNK = 1 << 16     # bytes that are parsed at once
EXIT_LOST = 3       # of trace-ctl: events are missing

Fields = Dict[str, Union[int, float, str]]
Row = Dict[str, Any]
Filter = Union[int, str, Iterable[str], None]

Event = TypedDict("Event", {
    "time_ns": int, "rel_ns": int, "tick": int, "error_ns": Optional[int], "node": str,
    "cpu": int, "tid": int, "thread": Optional[str], "pid": Optional[int],
    "process": Optional[str], "channel": str, "name": str, "kind": str, "fields": Fields})

Span = TypedDict("Span", {
    "node": str, "tid": int, "thread": Optional[str], "pid": Optional[int],
    "process": Optional[str], "name": str, "begin_ns": Optional[int], "end_ns": Optional[int],
    "duration_ns": Optional[int], "state": str, "open_until_ns": Optional[int],
    "depth": Optional[int], "begin_fields": Optional[Fields], "end_fields": Optional[Fields]})

State = TypedDict("State", {
    "node": str, "tid": int, "thread": Optional[str], "pid": Optional[int],
    "process": Optional[str], "state": str, "from_ns": int, "until_ns": int, "duration_ns": int,
    "cpu": Optional[int], "waker_tid": Optional[int], "waker": Optional[str],
    "next_tid": Optional[int], "prev_state": Optional[int], "call": Optional[str]})


class ReadError(Exception):
    """A recording that cannot be read, or a wrong query: what trace-ctl printed"""


T = TypeVar("T")


class Rows(Iterator[T], Generic[T]):
    """The rows of a query's result, in order, which can be read once.

    incomplete: None, or after the last row the reason why events are missing: losses, damage,
    a recorder that was killed, or a recording that is still being written.
    """

    def __init__(self, command: List[str]) -> None:
        self._reasons: List[str] = []
        # _read() has no reference to self: so the child ends when nothing refers to self.
        self._rows = self._read(command, self._reasons)

    @property
    def incomplete(self) -> Optional[str]:
        return self._reasons[0] if self._reasons else None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        row: T = next(self._rows)
        return row

    def close(self) -> None:
        """Ends the child process; there are no more rows."""
        self._rows.close()

    def __enter__(self) -> "Rows[T]":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @staticmethod
    def _read(command: List[str], reasons: List[str]) -> Any:
        # Imported here, so that programs that only record need not load these modules.
        import subprocess
        import tempfile

        with tempfile.TemporaryFile() as errors:
            try:
                child = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=errors)
            except OSError as error:
                raise ReadError(f"{command[0]}: {error.strerror}; install the package tsctrace, or"
                                " give the program's path as open(..., trace_ctl=PATH)") from error
            except ValueError as error:     # a NUL in an argument
                raise ReadError(f"{command[0]}: {error}") from error
            assert child.stdout
            at_end = False
            try:
                while True:
                    lines = child.stdout.readlines(CHUNK)
                    if lines and not lines[-1].endswith(b"\n"):
                        lines.pop()     # the child was killed while it wrote
                    if not lines:
                        break
                    yield from json.loads(b"[" + b",".join(lines) + b"]")
                at_end = True
            finally:
                child.stdout.close()
                if not at_end:
                    child.kill()
                status = child.wait()
            errors.seek(0)
            text = errors.read().decode(errors="replace").strip()
        if status == EXIT_LOST:
            reasons.append(text or "events are missing")
        elif status:
            raise ReadError(text or f"{command[0]} ended with status {status}")


class _Decoded(Rows[T]):
    """Rows with columns that are JSON in text"""

    def __init__(self, command: List[str]) -> None:
        super().__init__(command)
        self._rows = self._decode(self._rows)

    @staticmethod
    def _decode(rows: Any) -> Any:
        try:
            for row in rows:
                for key in ("fields", "begin_fields", "end_fields"):
                    if isinstance(row.get(key), str):
                        row[key] = json.loads(row[key])
                yield row
        finally:
            rows.close()


class Recording:
    """A recording, or a merged one; see open().

    Filters of all methods, as keyword arguments, which are those of trace-ctl-dump(1):

    name        events of this name, NAME or NAME/KIND, with wildcards; or a list of them
    start, to   from this time on, and before that one: ns since the epoch, or a text such as
                "+1.5" (s since the begin) or "2026-01-31T12:30Z"
    node        a node's name or number, or a list of them
    cpu, tid    numbers, or a text such as "0-3,8"
    comm        events of threads with this name at that time, with wildcards; or a list of names

    `where` is a condition of SQL on the columns of the table that is read.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"],
                 trace_ctl: Union[str, "os.PathLike[str]"] = "trace-ctl") -> None:
        self.path = os.fspath(path)
        self._trace_ctl = os.fspath(trace_ctl)
        self._open: "weakref.WeakSet[Rows[Any]]" = weakref.WeakSet()
        #: the nodes that were recorded: rows of the table `nodes`
        self.nodes: List[Row] = list(self.query("SELECT * FROM nodes"))

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events())

    def close(self) -> None:
        """Ends all child processes of rows that were not read to their end."""
        for rows in list(self._open):
            rows.close()

    def query(self, sql: str, **filters: Filter) -> Rows[Row]:
        """Answers a query in SQL, as of trace-ctl-query(1).

        Keys are the names of the columns. Values are int, float, str or None; blobs are
        hexadecimal text.
        """
        return self._rows(Rows, sql, filters)

    def events(self, where: Optional[str] = None, **filters: Filter) -> Rows[Event]:
        """Events in the order of time: events("kind = 'begin'", name="job", start="+1.5")"""
        return self._select("events", where, "time_ns", filters)

    def spans(self, where: Optional[str] = None, **filters: Filter) -> Rows[Span]:
        """Spans by begin, first those without one. Only spans of state "ended" have a length."""
        return self._select("spans", where, "begin_ns", filters)

    def calls(self, where: Optional[str] = None, **filters: Filter) -> Rows[Span]:
        """System calls, as spans"""
        return self._select("calls", where, "begin_ns", filters)

    def states(self, where: Optional[str] = None, **filters: Filter) -> Rows[State]:
        """Times in which threads ran, were runnable or blocked (recordings with -e sched)"""
        return self._select("states", where, "from_ns", filters)

    def _select(self, table: str, where: Optional[str], order: str,
                filters: Dict[str, Filter]) -> Any:
        condition = f"WHERE ({where}\n)" if where else ""
        return self._rows(_Decoded, f"SELECT * FROM {table} {condition} ORDER BY {order}", filters)

    def _rows(self, kind: Any, sql: str, filters: Dict[str, Filter]) -> Rows[Any]:
        command = [self._trace_ctl, "query", "--quiet", "--json=exact"]
        options = {"name": "--event", "start": "--from", "to": "--to", "node": "--node",
                   "cpu": "--cpu", "tid": "--tid", "comm": "--comm", "pair": "--pair"}
        for key, option in options.items():
            values = filters.get(key)
            if values is not None:
                several = [values] if isinstance(values, (int, float, str)) else list(values)
                if not several:
                    raise ValueError(f"{key}: an empty list selects nothing; omit the filter")
                command += [f"{option}={value}" for value in several]
        unknown = set(filters) - set(options)
        if unknown:
            raise TypeError(f"no such filter: {', '.join(sorted(unknown))}; use"
                            f" {', '.join(options)}")
        rows: Rows[Any] = kind(command + ["--", self.path, sql])
        self._open.add(rows)
        return rows


def open(path: Union[str, "os.PathLike[str]"],      # as in tsctrace.open()
         trace_ctl: Union[str, "os.PathLike[str]"] = "trace-ctl") -> Recording:
    """Opens a recording: the directory that `trace-ctl record` or `merge` has written.

    trace_ctl: the program; by default that in $PATH
    Raises ReadError if the recording cannot be read.
    """
    return Recording(path, trace_ctl)
