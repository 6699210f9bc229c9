// SPDX-License-Identifier: MIT
/*
 * Typed events in C++, in two files and a shared object that is loaded and unloaded.
 * Runs under trace-ctl record; the test checks the recording.
 *
 *	event OBJECT
 */
#include <cstdio>
#include <dlfcn.h>

#include "event.h"

namespace {

TSCT_EVENT(in_namespace, TSCT_KIND_INSTANT,
	   TSCT_S8(a), TSCT_U64_HEX(b), TSCT_F32(c), TSCT_F64(d),
	   TSCT_BYTES(e, 4), TSCT_CHARS(f, 4));
TSCT_EVENT(bare, TSCT_KIND_INSTANT);

struct emitter {
	int operator()(int part) const
	{
		return shared_emit_unordered((uint32_t)part, "member");
	}
};

} // namespace

#define REQUIRE(cond) do {						\
	if (!(cond)) {							\
		std::fprintf(stderr, "event: line %d: %s\n", __LINE__, #cond); \
		return 1;						\
	}								\
} while (0)

/* tsct_events_set_enabled() enables the events of the program and of a loaded shared
 * object. After dlclose(), the object's events are no longer counted. */
static int use_object(const char *path)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*emit)(void);

	if (!object)
		std::fprintf(stderr, "event: %s\n", dlerror());
	REQUIRE(object);
	emit = reinterpret_cast<int (*)(void)>(dlsym(object, "part_emit"));
	REQUIRE(emit && emit() == 0);
	REQUIRE(tsct_events_set_enabled("shared", true) == 3);
	REQUIRE(dlclose(object) == 0);
	REQUIRE(tsct_events_set_enabled("shared", true) == 2);
	return 0;
}

int main(int argc, char **argv)
{
	struct tsct_channel *t;
	int i;

	REQUIRE(argc == 2);
	REQUIRE(!shared_enabled() && shared_emit(0, "off") == 0);
	REQUIRE(tsct_channel_open(nullptr, &t) == 0);
	REQUIRE(tsct_events_enable(t, "*") == 4);
	REQUIRE(shared_enabled() && bare_enabled());
	REQUIRE(shared_emit(1, "main") == 0);
	REQUIRE(part_emit() == 0);
	REQUIRE(inline_emit() == 0 && template_emit(4L) == 0);
	REQUIRE(in_namespace_emit(-1, 255, 1.5F, -2.5, "abcd", "ef") == 0);
	REQUIRE(bare_emit() == 0 && bare_emit_unordered() == 0);
	REQUIRE(emitter()(5) == 0);
	for (i = 0; i < 20; i++)
		if (use_object(argv[1]))
			return 1;
	REQUIRE(tsct_channel_dropped(t) == 0);
	tsct_channel_close(t);
	REQUIRE(shared_emit(0, "closed") == 0);
	return 0;
}
