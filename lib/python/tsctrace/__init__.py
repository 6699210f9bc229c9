# SPDX-License-Identifier: MIT
"""Events of Python programs, recorded by tsctrace.

    import tsctrace

    tsctrace.event("job_queued", job=7, what="resize")
    with tsctrace.span("job", worker=3):
        ...
    tsctrace.counter("queue_length", 5)

Events go to the channel $TSCTRACE_CHANNEL, or "default", and are on from the start if
they match $TSCTRACE_EVENTS (default: all). Without a tracer they cost some tens of
nanoseconds, and nothing else changes; a tracer that starts later is found. `trace-ctl
events` lists and switches them in running programs.

Names of events and fields are C identifiers, of up to 63 and 31 characters. Types of
fields follow the values:

    bool    u8, 0 or 1
    int     s64; above its range u64, and beyond that text
    float   f64
    str     text in UTF-8, up to its first NUL
    bytes   text: the bytes up to their first NUL
    other   text: str(value)

Events of the same name whose values have other types are other events of that name.
All functions may be called in any thread, and after fork(). A span begins and ends in
one thread; in a coroutine it also covers what else runs there meanwhile. A span that ends
in another thread has an end without a begin there, and goes on to the end of its own thread.
"""

from ._tsctrace import (counter, disable, dropped, enable, error, event, is_enabled,
                        provider, span)

__all__ = ["counter", "disable", "dropped", "enable", "error", "event", "is_enabled",
           "provider", "span"]
