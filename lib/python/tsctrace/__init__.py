# SPDX-License-Identifier: MIT
"""Events of Python programs, recorded by tsctrace; and recordings, read in Python.

    import tsctrace

    tsctrace.event("job_queued", job=7, what="resize")
    with tsctrace.span("job", worker=3):
        ...
    async with tsctrace.span("request", path=path) as span:
        ...
        span.set(status=200, size=len(reply))  # fields of the span's end
    tsctrace.counter("queue_length", 5)

    @tsctrace.traced    # a span of each call; also of async functions and generators
    def resize(image):
        ...

Events go to the channel $TSCTRACE_CHANNEL, or "default", and are on from the start if
they match $TSCTRACE_EVENTS (default: all). Without a tracer they cost some tens of
nanoseconds, and nothing else changes; a tracer that starts later is found. `trace-ctl
events` lists and switches them in running programs.

Names of fields are C identifiers of up to 31 characters. Names of events have up to 63: other
characters become "_", so that "GET /x" is recorded as GET__x, and longer names are cut. Each name
is a definition in the recording: values that differ from call to call belong in fields. Types of
fields follow the values:

    bool    u8, 0 or 1
    int     s64; above its range u64, and beyond that text
    float   f64
    str     text in UTF-8, up to its first NUL
    bytes   text: the bytes up to their first NUL
    other   text: str(value)

Calls with the same name but values of other types record separate events of that name. All
functions may be called in any thread, and after fork(). A span begins and ends in one thread;
in a coroutine it also covers other tasks that run in the thread meanwhile. If a span ends in
another thread, that thread has an end without a begin, and the span lasts until its own thread
ends.

tsctrace.open(DIR) reads a recording: see tsctrace.read.
"""

import functools
import inspect
from typing import Any

from ._tsctrace import (counter, disable, dropped, enable, error, event, is_enabled,
                        provider, span)
from .read import Event, ReadError, Recording, Rows, Span, State, open

__all__ = ["Event", "ReadError", "Recording", "Rows", "Span", "State", "counter", "disable",
           "dropped", "enable", "error", "event", "is_enabled", "open", "provider", "span",
           "traced"]


def traced(name: Any = None, /, **fields: Any) -> Any:
    """A decorator: each call of the function is a span, named `name`, or as the function.

    @traced, @traced("name"), @traced("name", field=value), @traced(field=value)
    """
    if callable(name):
        return traced()(name)

    def decorate(function):
        title = name or getattr(function, "__qualname__", type(function).__qualname__)

        if inspect.iscoroutinefunction(function):
            async def wrapper(*args, **kwargs):
                with span(title, **fields):
                    return await function(*args, **kwargs)
        elif inspect.isasyncgenfunction(function):
            async def wrapper(*args, **kwargs):
                items = function(*args, **kwargs)
                step, value = items.asend, None
                with span(title, **fields):
                    try:
                        while True:
                            item = await step(value)
                            step = items.asend
                            try:
                                value = yield item
                            except GeneratorExit:
                                raise
                            except BaseException as error:
                                step, value = items.athrow, error
                    except StopAsyncIteration:
                        pass
                    finally:
                        await items.aclose()
        elif inspect.isgeneratorfunction(function):
            def wrapper(*args, **kwargs):
                with span(title, **fields):
                    return (yield from function(*args, **kwargs))
        else:
            def wrapper(*args, **kwargs):
                with span(title, **fields):
                    return function(*args, **kwargs)
        return functools.wraps(function)(wrapper)
    return decorate
