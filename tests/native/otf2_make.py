#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""otf2_make.py DIR K SPEC - write an OTF2 archive with libotf2's Python bindings.

It has every kind of definition and every kind of event that they can write. Archives
with different K share some definitions, with other numbers, and have others of their
own. SPEC: a JSON file, {"res", "offset", "length", "real", "locations": {NAME:
{"times": [], "offsets": [[time, offset], ...], "mapped"}}, "seed"}. The last time
is repeated until there is an event of each kind. mapped: with a mapping table of
regions. With "twice" in SPEC, definitions of many kinds are given twice, and those that
are not used first have another content.
"""
import inspect
import json
import os
import random
import re
import sys

import _otf2
from _otf2 import AttributeValue, GroupType, MetricValue, Type

NONE32, NONE64 = 2**32 - 1, 2**64 - 1
EVENT_KINDS = sorted(
    m.group(1) for m in (re.match(r"EvtWriter_([A-Z]\w+)$", n) for n in dir(_otf2))
    if m and not re.match("Get|Set|StoreRewind|ClearRewind|Rewind$", m.group(1)))

TWICE = {"Attribute", "SystemTreeNode", "LocationGroup", "Location", "Region", "Group", "Comm",
         "MetricClass", "MetricInstance", "CallingContext", "Parameter", "IoHandle"}


class Archive:
    def __init__(self, where, k, spec):
        self.k, self.spec = k, spec
        self.random = random.Random(spec["seed"])
        self.strings, self.defs = {}, []
        self.names = list(spec["locations"])
        self.handle = _otf2.Archive_Open(
            where, "traces", _otf2.FileMode.WRITE, 256 * 1024, 1024 * 1024,
            _otf2.FileSubstrate.POSIX, _otf2.Compression.NONE)
        self.flush = _otf2.FlushCallbacks(
            pre_flush=lambda *_: _otf2.FlushType.FLUSH, post_flush=None)
        _otf2.Archive_SetFlushCallbacks(self.handle, self.flush, None)
        _otf2.Archive_SetSerialCollectiveCallbacks(self.handle)
        _otf2.Archive_SetProperty(self.handle, "TEST::WHICH", "all", False)
        _otf2.Archive_SetProperty(self.handle, f"TEST::OWN{k}", str(k), False)

    def ref(self, i):
        """The number of definition i: sparse, and different for each K"""
        return i * (self.k + 2) + 5 * self.k

    def s(self, text):
        return self.strings.setdefault(text, self.ref(len(self.strings)))

    def own(self, text):
        return self.s(f"{text} of {self.k}")

    def add(self, kind, *args):
        self.defs.append((kind, args))

    def location(self, i):
        return 3 * i + self.k

    def value(self, of, n):
        value = AttributeValue()
        setattr(value, of, n)
        return value

    # Definitions that are equal in all archives, except for their reference numbers
    def define_common(self):
        r, s, add = self.ref, self.s, self.add
        for i, t in enumerate((Type.STRING, Type.REGION, Type.LOCATION, Type.DOUBLE,
                               Type.INT8)):
            add("Attribute", r(i), s(f"attribute {i}"), s("what it is"), t)
        add("SystemTreeNode", r(0), s("machine"), s("machine"), NONE32)
        add("SystemTreeNode", r(1), s("host"), s("node"), r(0))
        add("SystemTreeNodeDomain", r(1), 1)
        add("SystemTreeNodeProperty", r(1), s("cpus"), Type.UINT32, self.value("uint32", 8))
        add("SystemTreeNodeProperty", r(1), s("os"), Type.STRING,
            self.value("stringRef", s("Linux")))
        add("Paradigm", 4, s("MPI"), 1)
        add("ParadigmProperty", 4, 0, Type.STRING, self.value("stringRef", s("${name}")))
        add("IoParadigm", self.k, s("POSIX"), s("POSIX I/O"), 0, 1, [0], [Type.STRING],
            [self.value("stringRef", s("1.0"))])
        for i in range(3):
            add("Region", r(i), s(f"f{i}"), s(f"_Zf{i}"), s(""), 1, 4, 0, s("f.c"),
                10 * i, 10 * i + 5)
        add("SourceCodeLocation", r(0), s("f.c"), 17)
        add("Callpath", r(0), NONE32, r(0))
        add("Callpath", r(1), r(0), r(1))
        add("CallingContext", r(0), r(0), r(0), NONE32)
        add("CallingContext", r(1), r(1), r(0), r(0))
        add("InterruptGenerator", r(0), s("timer"), 0, 1, -9, 10**6)
        add("MetricMember", r(0), s("cycles"), s("how many"), 0, 0, Type.UINT64, 1, -3, s("#"))
        add("MetricMember", r(1), s("watts"), s(""), 0, 0, Type.DOUBLE, 1, 0, s("W"))
        add("MetricClass", r(0), [r(0), r(1)], 0, 1)
        for i, t in enumerate((0, 1, 2)):
            add("Parameter", r(i), s(f"parameter {t}"), t)
        add("CartDimension", r(0), s("x"), 4, 1)
        add("IoRegularFile", r(0), s("/etc/passwd"), r(1))
        add("IoDirectory", r(1), s("/etc"), r(1))
        add("IoFileProperty", r(0), s("fs"), Type.STRING, self.value("stringRef", s("ext4")))

    def define_own(self):
        r, s, own, add = self.ref, self.s, self.own, self.add
        add("SystemTreeNode", r(2), own("board"), s("board"), r(0))
        # A node with the common node's name but another property is a different node
        add("SystemTreeNode", r(3), s("host"), s("node"), r(0))
        add("SystemTreeNodeProperty", r(3), s("cpus"), Type.UINT32,
            self.value("uint32", 100 + self.k))
        add("LocationGroup", r(0), s("process"), 1, r(1), NONE32)
        add("LocationGroup", r(1), own("gpu"), 2, r(2), r(0))
        add("LocationGroupProperty", r(0), s("pid"), Type.UINT64, self.value("uint64", self.k))
        for i, name in enumerate(self.names):
            add("Location", self.location(i), s(name), 1,
                self.spec.get("count", len(self.times(self.spec["locations"][name]))), r(0))
            add("LocationProperty", self.location(i), s("tid"), Type.INT32,
                self.value("int32", i))
        every = [self.location(i) for i in range(len(self.names))]
        add("Region", r(3), own("main"), own("main"), s(""), 1, 4, 0, NONE32, 1, 2)
        add("CallingContextProperty", r(1), s("inlined"), Type.UINT8, self.value("uint8", 1))
        add("CallpathParameter", r(1), r(1), Type.INT64, self.value("int64", -self.k))
        add("Callsite", r(0), s("f.c"), 3, r(0), r(1))
        add("Group", r(0), s("MPI locations"), GroupType.COMM_LOCATIONS, 4, 0, every)
        add("Group", r(1), s("world"), GroupType.COMM_GROUP, 4, 0,
            list(range(len(every)))[::-1])
        add("Group", r(2), s("global world"), GroupType.COMM_GROUP, 4, 1,
            list(range(len(every))))
        add("Group", r(3), s("self"), GroupType.COMM_SELF, 4, 0, [])
        add("Group", r(4), s("functions"), GroupType.REGIONS, 0, 0, [r(1), r(0)])
        add("Group", r(5), s("threads"), GroupType.LOCATIONS, 0, 0, every)
        add("Comm", r(0), s("MPI_COMM_WORLD"), r(1), NONE32, 0)
        add("Comm", r(1), s("MPI_COMM_WORLD"), r(2), r(0), 1)
        add("Comm", r(2), s("MPI_COMM_SELF"), r(3), NONE32, 0)
        add("InterComm", r(3), s("between"), r(1), r(2), r(0), 0)
        add("RmaWin", r(0), s("window"), r(0), 0)
        add("RmaWin", r(1), s("window"), r(1), 0)
        add("MetricInstance", r(1), r(0), self.location(0), 3, r(5))
        add("MetricInstance", r(2), r(0), self.location(0), 1, r(1))
        add("MetricClassRecorder", r(0), self.location(0))
        add("CartTopology", r(0), s("line"), r(0), [r(0)])
        add("CartCoordinate", r(0), 0, [self.k])
        add("IoHandle", r(0), s("fd 3"), r(0), self.k, 1, NONE32, NONE32)
        add("IoHandle", r(1), s("fd 4"), r(1), self.k, 0, r(0), r(0))
        add("IoPreCreatedHandleState", r(0), 0, 0)

    def times(self, location):
        more = max(0, len(EVENT_KINDS) - len(location["times"])) if location["times"] else 0
        return location["times"] + location["times"][-1:] * more

    def argument(self, kind, name, time):
        """A value for a parameter of the bindings, by its name"""
        pick, r = self.random.choice, self.ref
        if name == "metricValues":
            return [MetricValue(unsigned_int=self.random.getrandbits(64)),
                    MetricValue(floating_point=0.5)]
        if name == "typeIDs":
            return [Type.UINT64, Type.DOUBLE]
        if name == "stopTime":
            return time + 7
        if name == "programArguments":
            return [self.s("-v"), self.own("argument")]
        if name == "parameter":
            return r({"ParameterString": 0, "ParameterInt": 1}.get(kind, 2))
        if name == "ioParadigm":
            return self.k
        if name in ("string", "programName"):
            return pick((self.s("text"), self.own("text")))
        if name in ("callingContext", "win", "handle", "oldHandle", "newHandle", "file"):
            return r(pick((0, 1)))
        if name in ("communicator", "threadTeam", "threadContingent"):
            return r(pick((0, 1)))
        if name in ("region", "group"):
            return r(pick((0, 1, 2)))
        if name == "metric":
            return r(pick((0, 1, 2)))
        if name == "interruptGenerator":
            return r(0)
        if name in ("receiver", "sender", "root", "remote", "creatingThread"):
            return self.random.randrange(len(self.names))
        if name in ("exitStatus", "value", "offsetRequest") and kind != "ParameterUnsignedInt":
            return self.random.randrange(-2**40, 2**40)
        if name == "model":
            return 4
        if name in ("mode", "type", "whence", "lockType", "syncType", "syncLevel",
                    "collectiveOp", "measurementMode", "creationFlags", "statusFlags",
                    "operationFlags"):
            return 1
        return self.random.getrandbits(30)

    def attributes(self):
        attributes = _otf2.AttributeList_New()
        for i, (t, of, n) in enumerate((
                (Type.STRING, "stringRef", self.own("attribute")),
                (Type.REGION, "regionRef", self.ref(3)),
                (Type.LOCATION, "locationRef", self.location(0)),
                (Type.DOUBLE, "float64", 0.25), (Type.INT8, "int8", -3))):
            if self.random.random() < .7:
                _otf2.AttributeList_AddAttribute(attributes, self.ref(i), t,
                                                 self.value(of, n))
        return attributes

    def write_events(self, i, location):
        writer = _otf2.Archive_GetEvtWriter(self.handle, self.location(i))
        for n, time in enumerate(self.times(location)):
            kind = EVENT_KINDS[n % len(EVENT_KINDS)]
            function = getattr(_otf2, "EvtWriter_" + kind)
            names = list(inspect.signature(function).parameters)[3:]
            attributes = self.attributes() if n % 3 == 0 else None
            function(writer, attributes, time, *(self.argument(kind, a, time) for a in names))
            if attributes:
                _otf2.AttributeList_Delete(attributes)
        _otf2.Archive_CloseEvtWriter(self.handle, writer)

    def write_definitions(self, writer):
        twice = self.spec.get("twice")
        for text, ref in self.strings.items():
            for _ in range(2 if twice else 1):
                _otf2.GlobalDefWriter_WriteString(writer, ref, text)
        for kind, args in self.defs:
            write = getattr(_otf2, "GlobalDefWriter_Write" + kind)
            if twice and kind == "Region":
                write(writer, args[0], self.s("machine"), *args[2:])
            write(writer, *args)
            if twice and kind == "Group" and args[2] == GroupType.COMM_LOCATIONS:
                # The list of locations, and a group of the ranks, have one number.
                write(writer, *args[:2], GroupType.COMM_GROUP, *args[3:5],
                      list(range(len(args[5]))))
            elif twice and kind in TWICE:
                write(writer, *args)

    def write(self):
        self.define_common()
        self.define_own()
        _otf2.Archive_OpenEvtFiles(self.handle)
        for i, location in enumerate(self.spec["locations"].values()):
            self.write_events(i, location)
        _otf2.Archive_CloseEvtFiles(self.handle)
        _otf2.Archive_OpenDefFiles(self.handle)
        for i, location in enumerate(self.spec["locations"].values()):
            writer = _otf2.Archive_GetDefWriter(self.handle, self.location(i))
            if location.get("mapped"):      # events then have local region numbers
                table = list(range(self.ref(3) + 1))
                for j in range(3):
                    table[self.ref(j)] = self.ref((j + 1) % 3)
                regions = _otf2.IdMap_CreateFromUint64Array(table, False)
                _otf2.DefWriter_WriteMappingTable(writer, _otf2.MappingType.REGION, regions)
                _otf2.IdMap_Free(regions)
            for time, offset in location.get("offsets", ()):
                _otf2.DefWriter_WriteClockOffset(writer, time, offset, 0.0)
            _otf2.Archive_CloseDefWriter(self.handle, writer)
        _otf2.Archive_CloseDefFiles(self.handle)
        writer = _otf2.Archive_GetGlobalDefWriter(self.handle)
        real = self.spec.get("real")
        _otf2.GlobalDefWriter_WriteClockProperties(
            writer, self.spec["res"], self.spec["offset"], self.spec["length"],
            NONE64 if real is None else real)
        self.write_definitions(writer)
        _otf2.Archive_CloseGlobalDefWriter(self.handle, writer)
        _otf2.Archive_Close(self.handle)


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    with open(sys.argv[3], encoding="utf-8") as file:
        Archive(sys.argv[1], int(sys.argv[2]), json.load(file)).write()
