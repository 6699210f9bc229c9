#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the specification of the generic netlink family with the code.

Names and numbers of commands, attributes and groups with abi_netlink.h, of enums and
flags with the other headers; types, with the functions by which kmod/netlink.c appends
attributes; attributes of requests, with its policies and their limits; commands with
handlers, with its operations.
"""
import re
import sys

import yaml

HEADERS = "kmod/uapi/tsctrace"
SPEC = "Documentation/netlink/tsctrace.yaml"
SOURCE = "kmod/netlink.c"
PUT_TYPES = {"nla_put_string": {"string"}, "nla_put_u32": {"u32"},
             "netlink_put_u64": {"u64", "s64"}, "netlink_put_lost": {"nest"}}
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
    types = {}
    for function, name in re.findall(r"\b(\w+)\(skb,\s*(TSCT_GENL_\w+)", source):
        types[name] = PUT_TYPES[function]
    # netlink_put_time() appends three attributes that an array names.
    for array in re.findall(r"types\[\] = \{([^}]*)\}", source):
        names = re.findall(r"TSCT_GENL_\w+", array)
        types.update(zip(names, ({"u32"}, {"s64"}, {"u64"}), strict=True))
    attrs = re.search(r"attrs\[TSCT_LOST_NR\] = \{([^}]*)\}", source)[1]
    types.update((name, {"u64"}) for name in re.findall(r"= (TSCT_GENL_\w+)", attrs))
    for attribute_set in spec["attribute-sets"]:
        for attribute in attribute_set["attributes"]:
            name = c_name(attribute_set["name-prefix"], attribute["name"])
            if attribute["type"] not in types.pop(name, ()):
                fault(f"{name}: {SOURCE} does not append a {attribute['type']}")
    for name in types:
        fault(f"{name}: {SOURCE} appends it, {SPEC} does not have it")


def code_operations(source):
    """Per command: attributes in the policy with their limits, doit, dumpit."""
    policies = {}
    for name, body in re.findall(r"nla_policy (\w+)\[\] = \{(.*?)\};", source, re.S):
        policies[name] = {
            attribute: (kind.lower(), limit.lower(), value) for attribute, limit, kind, value
            in re.findall(r"\[(\w+)\] = NLA_POLICY_(\w+)\(NLA_(\w+), ([^)]*)\)", body)}
    operations = {}
    text = re.search(r"netlink_ops\[\] = \{(.*?)\n\};", source, re.S)[1]
    for body in text.split("}, {"):
        policy = re.search(r"NETLINK_POLICY\((\w+)\)", body)
        operations[re.search(r"\.cmd = (\w+)", body)[1]] = (
            policies[policy[1]] if policy else {}, ".doit" in body, ".dumpit" in body)
    return operations


def check_operations(spec, source):
    sets = {s["name"]: s for s in spec["attribute-sets"]}
    groups = {g["name"] for g in spec["mcast-groups"]["list"]}
    code = code_operations(source)
    for operation in spec["operations"]["list"]:
        name = c_name(spec["operations"]["name-prefix"], operation["name"])
        attributes = {a["name"]: a for a in sets[operation["attribute-set"]]["attributes"]}
        prefix = sets[operation["attribute-set"]]["name-prefix"]
        for body in (operation.get("event"), *(operation.get(mode, {}).get(part)
                     for mode in ("do", "dump") for part in ("request", "reply"))):
            for attribute in (body or {}).get("attributes", ()):
                if attribute not in attributes:
                    fault(f"{name}: no attribute {attribute}")
        if "event" in operation:
            if operation["mcgrp"] not in groups or name in code:
                fault(f"{name}: not an event of a group")
            continue
        policy, doit, dumpit = code.pop(name, ({}, False, False))
        expect(f"{name}: do, dump", (doit, dumpit), ("do" in operation, "dump" in operation))
        requested = {attribute for mode in ("do", "dump") for attribute in
                     operation.get(mode, {}).get("request", {}).get("attributes", ())}
        wanted = {}
        for attribute in requested:
            (limit, value), = attributes[attribute]["checks"].items()
            wanted[c_name(prefix, attribute)] = (attributes[attribute]["type"], limit,
                "TSCT_CPUS_MAX - 1" if value == 8191 else str(value))
        expect(f"{name}: policy", policy, wanted)
    for name in code:
        fault(f"{name}: an operation that is not in {SPEC}")


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
    check_enums(spec, read_defines("abi.h", "abi_channel.h", "abi_clock.h"))
    check_types(spec, source)
    check_operations(spec, source)
    if "TSCT_CPUS_MAX	8192" not in open("lib/core/port.h").read():
        fault("TSCT_CPUS_MAX is not 8192")
    print(f"{len(mine)} constants, {len(spec['definitions'])} enums, {len(FAULTS)} faults")
    for text in FAULTS:
        print(text)
    return 1 if FAULTS or len(mine) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
