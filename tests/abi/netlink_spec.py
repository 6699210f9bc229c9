#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the specification of the generic netlink family with the code.

Names and numbers of messages, attributes and groups with abi_netlink.h, of enums with the
other headers; types, with the functions by which kmod/netlink.c appends attributes. It has no
operations, and each message of the specification is sent to a group.
"""
import re
import sys

import yaml

HEADERS = "kmod/uapi/tsctrace"
SPEC = "Documentation/netlink/tsctrace.yaml"
SOURCE = "kmod/netlink.c"
PUT_TYPES = {"nla_put_u32": "u32", "nla_put": "u64"}
FAULTS = []


def fault(text):
    FAULTS.append(text)


def expect(what, found, wanted):
    if found != wanted:
        fault(f"{what}: {found}, not {wanted}")


def c_name(*parts):
    return "".join(parts).upper().replace("-", "_")


def read_defines(*names):
    defines = {}
    for name in names:
        with open(f"{HEADERS}/{name}") as header:
            for key, value in re.findall(r'^#define\s+(TSCT_\w+)\s+("[^"]*"|\w+)',
                                         header.read(), re.M):
                value = value.strip("U")
                if value.startswith('"'):
                    defines[key] = value.strip('"')
                elif re.fullmatch(r"0x[0-9a-fA-F]+|\d+", value):
                    defines[key] = int(value, 0)
    return defines


def numbered(items):
    """Items with their values: as given, or that of the item before plus one."""
    value = 0
    for item in items:
        value = item.get("value", value + 1)
        yield item, value


def spec_numbers(spec):
    """All constants that the specification defines for abi_netlink.h."""
    numbers = {c_name(spec["c-family-name"]): spec["name"],
               c_name(spec["c-version-name"]): 1}
    for attribute_set in spec["attribute-sets"]:
        for attribute, value in numbered(attribute_set["attributes"]):
            numbers[c_name(attribute_set["name-prefix"], attribute["name"])] = value
    for operation, value in numbered(spec["operations"]["list"]):
        numbers[c_name(spec["operations"]["name-prefix"], operation["name"])] = value
    for group in spec["mcast-groups"]["list"]:
        numbers[c_name(group["c-define-name"])] = group["name"]
    return numbers


def check_enums(spec, defines):
    """Entries of an enum are numbered from 0; those of flags are bits."""
    for enum in spec["definitions"]:
        for i, entry in enumerate(enum["entries"]):
            name = c_name(enum["name-prefix"], entry)
            expect(name, defines.get(name), 1 << i if enum["type"] == "flags" else i)
        last = c_name(enum["name-prefix"], "nr")
        if enum["type"] == "enum" and last in defines:
            expect(f"entries of {enum['name']}", len(enum["entries"]), defines[last])


def check_types(spec, source):
    """Types of attributes, by the functions that append them."""
    types = {name: PUT_TYPES[function] for function, name
             in re.findall(r"\b(nla_put\w*)\(skb,\s*(TSCT_GENL_\w+)", source)}
    for attribute_set in spec["attribute-sets"]:
        for attribute in attribute_set["attributes"]:
            name = c_name(attribute_set["name-prefix"], attribute["name"])
            expect(name, types.pop(name, None), attribute["type"])
    for name in types:
        fault(f"{name}: {SOURCE} appends it, {SPEC} does not have it")


def check_operations(spec, source):
    sets = {s["name"]: s for s in spec["attribute-sets"]}
    groups = {g["name"] for g in spec["mcast-groups"]["list"]}
    for operation in spec["operations"]["list"]:
        known = {a["name"] for a in sets[operation["attribute-set"]]["attributes"]}
        expect(operation["name"], set(operation["event"]["attributes"]), known)
        if operation["mcgrp"] not in groups or {"do", "dump"} & operation.keys():
            fault(f"{operation['name']}: not an event of a group")
    if ".ops" in source or "_ops = " in source:
        fault(f"{SOURCE} has operations")


def main():
    with open(SPEC) as file:
        spec = yaml.safe_load(file)
    with open(SOURCE) as file:
        source = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    if len(sys.argv) > 1:
        import jsonschema
        with open(sys.argv[1]) as file:
            jsonschema.validate(spec, yaml.safe_load(file))
        print("valid by the schema")
    mine = spec_numbers(spec)
    header = read_defines("abi_netlink.h")
    for name in sorted(mine.keys() | header.keys()):
        expect(name, header.get(name), mine.get(name))
    check_enums(spec, read_defines("abi.h", "abi_channel.h", "abi_disruption.h"))
    check_types(spec, source)
    check_operations(spec, source)
    print(f"{len(mine)} constants, {len(spec['definitions'])} enums, {len(FAULTS)} faults")
    for text in FAULTS:
        print(text)
    return 1 if FAULTS or len(mine) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
