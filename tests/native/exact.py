# SPDX-License-Identifier: MIT
"""JSON of trace-ctl, in which integers beyond 2^53 are strings: reads these as integers"""
import json
import re

EXACT_MAX = 1 << 53


def integer(text):
    assert abs(int(text)) <= EXACT_MAX, f"{text} should be a string"
    return int(text)


def restored(value):
    if isinstance(value, dict):
        return {key: restored(member) for key, member in value.items()}
    if isinstance(value, list):
        return [restored(member) for member in value]
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{16,20}", value):
        assert abs(int(value)) > EXACT_MAX, f'"{value}" should be a number'
        return int(value)
    return value


def loads(text):
    return restored(json.loads(text, parse_int=integer))
