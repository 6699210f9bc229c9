#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Compares a CTF trace, as python3-bt2 reads it, with what merge made of it: reads the lines of
`trace-ctl dump --json` of the result from standard input.

ctf_check.py TRACE [NODE]   events, fields, threads and CPUs are the same
"""
import collections
import json
import re
import struct
import sys

import bt2


def word(name, room):
    name = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if not name or name[0].isdigit():
        name = "_" + name
    return name[:room - 1]


def text(value):
    """The text; bt2 returns the one of an earlier event for an empty one"""
    return str(value) if len(value) else ""


def real(value):
    """The number; of a float, that of its shortest text"""
    number = float(value)
    if isinstance(value, bt2._SinglePrecisionRealFieldConst):
        for digits in range(1, 10):
            short = float(f"{number:.{digits}g}")
            if struct.unpack("f", struct.pack("f", short))[0] == number:
                return short
    return number


# Types that only later versions of the library have
BLOB = getattr(bt2, "_BlobFieldConst", ())


def plain(value):
    """The value as JSON that has what dump prints of a text in JSON"""
    if value is None or (isinstance(value, bt2._OptionFieldConst) and not value.has_field):
        return None
    if isinstance(value, bt2._OptionFieldConst):
        return plain(value.field)
    if isinstance(value, bt2._BoolFieldConst):
        return bool(value)
    if isinstance(value, BLOB):
        return list(bytes(value.data))
    if isinstance(value, bt2._StructureFieldConst):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, bt2._ArrayFieldConst):
        return [plain(v) for v in value]
    if isinstance(value, bt2._VariantFieldConst):
        option = value.selected_option
        name = value.cls.option_at_index(value.selected_option_index).name
        return {name: plain(option)}
    if isinstance(value, bt2._StringFieldConst):
        return text(value)
    if isinstance(value, bt2._RealFieldConst):
        return real(value)
    value = int(value)
    return value if abs(value) <= 2 ** 53 else str(value)


def flatten(scope, of, out):
    for name, value in scope.items():
        name = f"{of}_{name}" if of else name
        if isinstance(value, bt2._StructureFieldConst):
            flatten(value, name, out)
            continue
        out.append((name, value))
        if isinstance(value, (bt2._UnsignedEnumerationFieldConst,
                              bt2._SignedEnumerationFieldConst)):
            # Not value.labels, which fails for a value that has none
            out.append((name + "_label", ",".join(
                label for label, mapping in value.cls.items()
                if any(r.lower <= int(value) <= r.upper for r in mapping.ranges))))


def shown(value):
    """What dump --json shows of a field"""
    if isinstance(value, str):
        return value
    if isinstance(value, bt2._OptionFieldConst):
        return json.dumps(plain(value))
    if isinstance(value, (bt2._StructureFieldConst, bt2._ArrayFieldConst, bt2._VariantFieldConst,
                          BLOB or bt2._ArrayFieldConst)):
        return plain(value)
    if isinstance(value, bt2._StringFieldConst):
        return text(value)
    if isinstance(value, bt2._RealFieldConst):
        return real(value)
    return value.value_as_integer if isinstance(value, bt2._BitArrayFieldConst) else int(value)


def fields_of(event):
    all_fields = []
    for scope in event.common_context_field, event.specific_context_field, event.payload_field:
        if scope is not None:
            flatten(scope, "", all_fields)
    rest = None
    if len(all_fields) > 32:
        rest = {name: v if isinstance(v, str) else plain(v) for name, v in all_fields[31:]}
        all_fields = all_fields[:31]
    out = {}
    for name, value in all_fields:
        key, nr = word(name, 32), 2
        while key in out:
            end = f"_{nr}"
            key = word(name, 32 - len(end)) + end
            nr += 1
        out[key] = shown(value)
    if rest is not None:
        out["more_fields"] = rest
    return out


def frozen(value):
    return json.dumps(value, sort_keys=True)


def main():
    trace, node = sys.argv[1], (sys.argv[2:] + [None])[0]
    wanted, lost, nr = collections.Counter(), 0, 0
    for message in bt2.TraceCollectionMessageIterator(trace):
        if type(message) is bt2._DiscardedEventsMessageConst:
            lost += message.count or 0
        if type(message) is not bt2._EventMessageConst:
            continue
        event = message.event
        tid = 0
        for scope in event.common_context_field, event.specific_context_field:
            for name in "vtid", "tid":
                if scope is not None and name in scope:
                    tid = int(scope[name])
        context = event.packet.context_field if event.stream.cls.supports_packets else None
        cpu = int(context["cpu_id"]) if context is not None and "cpu_id" in context else 0
        cpu = 0 if cpu > 65535 else cpu
        wanted[frozen([cpu, tid, word(event.cls.name, 64), fields_of(event)])] += 1
        nr += 1
    got = collections.Counter()
    for line in sys.stdin:
        event = json.loads(line)
        if node and event.get("node") != node:
            continue
        fields = event["fields"]
        for name, value in fields.items():
            if isinstance(value, str) and value[:1] in "[{" and value:
                try:
                    fields[name] = json.loads(value)
                except ValueError:
                    pass
            elif isinstance(value, str) and re.fullmatch(r"-?\d{16,}", value):
                fields[name] = int(value)       # beyond 2^53
        got[frozen([event["cpu"], event["tid"], event["event"], fields])] += 1
    if wanted != got:
        for one, other, place in (wanted, got, "trace"), (got, wanted, "result"):
            for key in list((one - other).keys())[:3]:
                print(f"only in the {place}: {key}")
        sys.exit(f"{nr} events of the trace, {sum(got.values())} of the result")
    print(f"{nr} events, {lost} lost")


main()
