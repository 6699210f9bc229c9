#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
query_check.py TRACE-CTL DIR SEED SQL-SHIM

Compares the answers of query with the output of dump: each value of each event in `events` and
in the tables of events; random conditions that narrow what is read; spans and messages, whose ends
are events; the database that --output writes; and what SQLite itself answers from this database to
statements on groups of events, some of which query reads event by event, as sql_shim.c shows. Prints
how many events, conditions, messages and statements were compared.
"""
import collections
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

ctl, recording, seed, shim = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
LEADING = ["time_ns", "rel_ns", "tick", "error_ns", "node", "cpu", "tid", "thread", "pid",
           "process", "channel", "name", "kind"]


def run(*arguments):
    done = subprocess.run([ctl, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 3):
        sys.exit(f"{arguments}: {done.stderr.decode()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def query(sql, *options):
    return run("query", "--json", *options, recording, sql)


def number(value):
    """Integers beyond 2^53 are texts in JSON."""
    return int(value) if isinstance(value, str) else value


def equal(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6)
    return a == b and type(a) == type(b)


def event_of(line):
    """The row that events should have for a line of dump"""
    node = line.get("node")
    return {"time_ns": number(line["time_ns"]), "rel_ns": number(line["rel_ns"]),
            "tick": number(line["stamp"]), "error_ns": line["error_ns"], "node": node,
            "cpu": line["cpu"], "tid": line["tid"], "thread": line.get("thread") or None,
            "pid": line.get("pid"), "channel": line["channel"], "name": line["event"],
            "kind": line["kind"], "fields": {k: text_of(line, v) for k, v in line["fields"].items()}}


def text_of(line, value):
    """None for a text of a system call that could not be read, or is a null pointer."""
    unread = isinstance(value, str) and len(value) == 2 and value[0] in "\xff\ufffd\udcff"
    return None if unread and line["channel"] == "kernel" and value[1] in "FN" else value


def row_of(row):
    row = dict(row)
    for key in "time_ns", "rel_ns", "tick":
        row[key] = number(row[key])
    return row


truth = [event_of(line) for line in run("dump", "--json", "--error", recording)]
rows = [row_of(row) for row in query("select * from events order by time_ns")]
assert len(truth) == len(rows), (len(truth), len(rows))
merged = any(event["node"] is not None for event in truth)
for event, row in zip(truth, rows):
    assert list(row) == LEADING + ["fields"], row
    row["fields"] = json.loads(row["fields"])
    for key, value in event.items():
        if key != "node" or merged:
            assert equal(row[key], value), (key, value, row)
    assert row["process"] is None or row["pid"] is not None, row
    event["node"] = row["node"]
compared = len(rows)

# --- a table for each name of events: a column for each field --------------------------------
by_name = collections.defaultdict(list)
for event in truth:
    by_name[event["name"].lower()].append(event)
for name in sorted(by_name)[:50]:
    if name in ("events", "threads") or name.startswith("sqlite_"):
        name = f'{name}/{by_name[name][0]["kind"]}'
        events = [e for e in by_name[name.split("/")[0]] if e["kind"] == name.split("/")[1]]
    else:
        events = by_name[name]
    rows = [row_of(row) for row in query(f'select * from "{name}" order by tick')]
    assert len(rows) == len(events), (name, len(rows), len(events))
    column_of = {}
    for event, row in zip(events, rows):
        left = {key: value for key, value in row.items() if key not in LEADING}
        for field, value in event["fields"].items():
            if field not in column_of:
                column_of[field] = next(
                    key for key in left if key not in column_of.values() and
                    key.rstrip("_").lower() == field.rstrip("_").lower())
                assert column_of[field].startswith(field), (field, column_of)
            assert equal(left.pop(column_of[field]), value), (name, field, value, row)
        assert all(value is None for value in left.values()), (name, left)
        compared += 1

# --- conditions that narrow what is read -------------------------------------------------------
draw = random.Random(seed)
OPERATORS = {"=": lambda a, b: a == b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
             ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
conditions = 0


def condition():
    column = draw.choice(["time_ns", "rel_ns", "tick", "cpu", "tid", "name", "kind", "node",
                          "thread"])
    operator = draw.choice(list(OPERATORS)) if column in LEADING[:3] else "="
    value = draw.choice(truth)[column]
    value = "nobody" if value is None else value
    if column in LEADING[:3]:
        value += draw.choice([-1, 0, 0, 1])
    literal = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
    if isinstance(value, int) and abs(value) < 1 << 53 and draw.random() < 0.3:
        literal += ".0"
    elif isinstance(value, int) and draw.random() < 0.1:    # beyond all times of the recording
        value = (1 << 63) - draw.choice([1, 2, 1000])
        literal = str(value)
    if draw.random() < 0.2:    # not known when the query is compiled
        literal = f"(select {literal})"
    if draw.random() < 0.1 and isinstance(value, str) and value.isascii():  # as NOCASE
        literal = literal.upper() + " collate nocase"
        return f"{column} {operator} {literal}", \
            lambda e: (e[column] or "").upper() == value.upper()
    return f"{column} {operator} {literal}", lambda e: OPERATORS[operator](e[column], value)


for _ in range(60):
    parts = [condition() for _ in range(draw.choice([1, 1, 2, 3]))]
    word, joined = draw.choice([("and", all), ("and", all), ("or", any)])
    where = f" {word} ".join(text for text, _ in parts)
    order = draw.choice(["", " order by time_ns", " order by tick desc"])
    want = [e["tick"] for e in truth if joined(test(e) for _, test in parts)]
    got = [number(row["tick"]) for row in query(f"select tick from events where {where}{order}")]
    if "order" not in order:
        got.sort()
    assert got == (want[::-1] if "desc" in order else want), (where, order, len(got), len(want))
    conditions += 1

# --- statements on groups of events ------------------------------------------------------------
COLUMNS = ["node", "cpu", "tid", "thread", "pid", "process", "channel", "name", "kind"]


def time_condition():
    """A condition on time, and whether a scan in groups can meet it."""
    column = draw.choice(["time_ns", "rel_ns", "e.rel_ns"])
    some = [draw.choice(truth)[column.split(".")[-1]] + draw.choice([-1, 0, 1]) for _ in range(2)]
    low, high = sorted(some)
    if draw.random() < 0.3:
        low = draw.choice([low + 0.5, low - 0.5, -1e30, 1e30, -1.5, "'x'", f"'{low}'", "null"])
    return draw.choice([
        (f"{column} {draw.choice(list(OPERATORS))} {low}", True),
        (f"{low} {draw.choice(list(OPERATORS))} {column}", True),
        (f"{column} between {low} and {high}", True),
        (f"not {column} > {high}", None),    # SQLite may change it into <=
        (f"{high} between {column} and {high + 5}", False),
        (f"{high} between {high - 5} and {column}", False),
        (f"{column} >= {low} and {column} /* < 3 */ < {high}", True),
        (f"{column} not between {low} and {high}", False),
        (f"{column} + 0 > {high}", False),
        (f"({column} > {high} or cpu = 1)", False),
        (f"({column}, tid) > ({high}, 102)", False),
        (f"{column} in ({high}, {high - 1})", False),
        (f"abs({column}) > {high}", False),
        (f"{column} % 2 = 1", False),
        (f"{column} is not null", False)])


def statement():
    """A statement, whether its rows are ordered, and whether it is answered in groups."""
    table = draw.choice(["events", "EVENTS"] + [name for name in ("job", "level", "load", "work")
                                                if name in by_name])
    keys = draw.sample(COLUMNS, draw.choice([0, 1, 1, 2, 3]))
    values = [("count(*)", True), ("count ( * ) as n", True), ("COUNT(*) /* ) */ AS count", True),
              ("min(rel_ns)", True), ("max(time_ns) - min(time_ns) as took", True),
              ("max(tid)", True), ("min(name)", True), ("10 * count(*) + 1", True),
              ("lower('count(*) from e') || count(*)", True), ("count(tid)", False),
              ("sum(tid)", False), ("count(distinct thread)", True), ("avg(rel_ns)", False),
              ("count(*) filter (where cpu = 1)", False), ("count(tick)", False),
              ("count(distinct time_ns)", False), ("COUNT ( distinct tid%2 ) + 1 AS d", True),
              ("sum(count(*)) over ()", False)]
    # Names of results that other tables have as columns
    alias, of_key = draw.sample(["c", "k", "events", "first_ns", "last_rel_ns"], 2)
    chosen = draw.sample(values, draw.choice([1, 1, 2, 3])) + [(f"count(*) as {alias}", True)]
    grouped = all(is_grouped for _, is_grouped in chosen)
    where = []
    if draw.random() < 0.6:
        text, is_grouped = time_condition()
        where.append(text)
        grouped = is_grouped if grouped else False
    if draw.random() < 0.4:
        column = draw.choice(COLUMNS)
        value = draw.choice(truth)[column] if column != "process" else None
        where.append(f"{column} is null" if value is None else
                     f"{column} = {value!r}" if isinstance(value, int) else
                     "%s %s '%s'" % (column, draw.choice(["=", "like", ">=", "<>" if where else
                                                          "in ('a', 'b') or name ="]),
                                     value.replace("'", "''")))
    if draw.random() < 0.2:
        where.append(f"tid in (101, 102, {draw.choice(truth)['tid']})")
    sql = ", ".join(keys + [text for text, _ in chosen]) + f" from {table} as e"
    if keys and draw.random() < 0.3:
        sql = sql.replace(keys[0], f"{keys[0]} as {of_key}", 1)
        keys[0] = of_key
    sql = "select " + sql
    sql += (" where " + " and ".join(where)) if where else ""
    sql += (" group by " + ", ".join(keys)) if keys else ""
    sql += f" having {draw.choice(['count(*)', alias])} > {draw.choice([1, 9, 99])}" if keys and draw.random() < 0.3 else ""
    ordered = draw.random() < 0.4
    sql += (" order by " + ", ".join(keys + [alias]) + draw.choice(["", " desc"])) if ordered else ""
    sql += f" limit {draw.randrange(5)} offset 1" if ordered and draw.random() < 0.5 else ""
    if keys and keys[0] in COLUMNS and grouped and not where and draw.random() < 0.2:
        sql = f" -- 'one \nselect DISTINCT {', '.join(keys)} from {table} e;"
        ordered = False
    return sql, ordered, grouped


# The options that filter
middle = truth[len(truth) // 2]
for options, test in (
        (["--from", f'{middle["time_ns"]}'], lambda e: e["time_ns"] >= middle["time_ns"]),
        (["--to", f'{middle["time_ns"]}'], lambda e: e["time_ns"] < middle["time_ns"]),
        (["--cpu", f'{middle["cpu"]}'], lambda e: e["cpu"] == middle["cpu"]),
        (["--tid", f'{middle["tid"]}'], lambda e: e["tid"] == middle["tid"]),
        (["--event", f'{middle["name"]}'], lambda e: e["name"] == middle["name"])):
    got = query("select count(*) as n, count(distinct tick) as d from events", *options)
    want = [e["tick"] for e in truth if test(e)]
    assert got == [{"n": len(want), "d": len(set(want))}], (options, got, len(want))

# --- spans and messages: each end is an event, of one row at most; lengths only where known ------
NO_END = "sys_exit", "sys_exit_group", "sys_rt_sigreturn"    # they do not return


def ends(kinds):
    return collections.Counter(
        (e["node"], e["tid"], e["name"], e["time_ns"], json.dumps(e["fields"]))
        for e in truth if e["kind"] in kinds and e["name"] not in NO_END)


left = {"begin": ends({"begin"}), "end": ends({"end"})}
spans = query("select '' as before, * from spans union all select 'sys_', * from calls")
for span in spans:
    for end in "begin", "end":
        if span[f"{end}_fields"] is None:
            continue
        key = (span["node"], span["tid"], span["before"] + span["name"], number(span[f"{end}_ns"]),
               json.dumps(json.loads(span[f"{end}_fields"])))
        assert key in left[end] or span["before"], (end, key)    # sys_enter and sys_exit begin none
        left[end][key] -= key in left[end]
    ended = span["state"] == "ended"
    assert (span["duration_ns"] is not None) == ended, span
    assert (span["end_ns"] is not None) == (ended or span["state"] == "not begun"), span
    if ended:
        assert number(span["end_ns"]) - number(span["begin_ns"]) == span["duration_ns"] >= 0
    else:
        assert (span["open_until_ns"] is None) == (span["begin_ns"] is None), span
for end, counts in left.items():
    wrong = [(key, count) for key, count in counts.items() if count]
    assert not wrong, (end, len(wrong), wrong[:3])

left = {"send": ends({"send"}), "receive": ends({"receive"})}
messages = query("select * from messages")
for message in messages:
    times = {}
    for end in left:
        times[end] = number(message[f"{end}_ns"])
        who = message[f"{end}_node"], message[f"{end}_tid"], message[f"{end}_name"], times[end]
        key = next(key for key in +left[end] if key[:4] == who and
                   next(iter(json.loads(key[4]).values())) == message["number"])
        left[end][key] -= 1
    assert times["receive"] - times["send"] == message["latency_ns"], message

# --- counts are those of the events ---------------------------------------------------------------
GROUPS = "group by node, cpu, tid, channel, name, kind order by node, cpu, tid, channel, name, kind"
middle = truth[len(truth) // 2]["rel_ns"] if truth else 0
for options in [], ["--from", f"+{middle}ns"], *(["--tid", str(e["tid"])] for e in truth[:1]):
    assert query("select node, cpu, tid, channel, name, kind, sum(events) as n, min(first_ns) as a,"
                 f" max(last_ns) as b from counts {GROUPS}", *options) == query(
                     "select node, cpu, tid, channel, name, kind, count(*) as n, min(time_ns) as a,"
                     f" max(time_ns) as b from events {GROUPS}", *options), options

# --- the database ------------------------------------------------------------------------------
with tempfile.TemporaryDirectory() as folder:
    run("query", "-q", "-o", f"{folder}/all.sqlite", recording)
    db = sqlite3.connect(f"{folder}/all.sqlite")
    stored = db.execute("select time_ns, tick, cpu, tid, name, fields from events").fetchall()
    assert stored == [(e["time_ns"], e["tick"], e["cpu"], e["tid"], e["name"], f)
                      for e, (f,) in zip(truth, db.execute("select fields from events"))]
    assert [json.loads(row[5]) for row in stored] == [e["fields"] for e in truth]
    for name in sorted(by_name)[:50]:
        if name in ("events", "threads") or name.startswith("sqlite_"):
            continue
        view = db.execute(f'select * from "{name}" order by tick')
        live = [row_of(row) for row in query(f'select * from "{name}" order by tick')]
        names = [column[0] for column in view.description]
        for row, values in zip(live, view, strict=True):
            assert list(row) == names
            for key, value in zip(names, values):
                beyond = isinstance(value, int) and abs(value) > 1 << 53
                value = str(value) if beyond and not isinstance(row[key], int) else value
                assert equal(row[key], value), (name, key, value, row)

    # --- statements on groups ------------------------------------------------------------------
    for number_of in range(40):
        sql, ordered, grouped = statement()
        log = f"{folder}/sql"
        os.environ.update(LD_PRELOAD=shim, SQL_SHIM=log)
        live = query(sql)
        del os.environ["LD_PRELOAD"]
        view = db.execute(sql)
        names = [column[0] for column in view.description]
        want = [tuple(str(v) if isinstance(v, int) and abs(v) > 1 << 53 else v for v in row)
                for row in view]
        got = [tuple(row.values()) for row in live]
        assert all(list(row) == names for row in live), (sql, names, live[:1])
        if not ordered:
            got.sort(key=repr)
            want.sort(key=repr)
        assert got == want, (sql, got[:3], want[:3], len(got), len(want))
        assert grouped is None or grouped == (' grouped"' in open(log).read()), (sql, grouped)
        os.remove(log)
print(compared, "events,", conditions, "conditions,", len(messages), "messages,", number_of + 1,
      "statements")
