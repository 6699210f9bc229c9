/* SPDX-License-Identifier: MIT */
/* Adds event definitions to a recording, for tests */
#ifndef TESTS_DEFINE_H
#define TESTS_DEFINE_H

#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "lib/ctf/recording.h"
#include "suite.h"

static inline void define(struct tsct_recording *rec, __u32 stream, __u32 id,
			  const char *name, __u32 kind, const char *fields)
{
	struct tsct_event_def def;

	ck_assert_int_eq(tsct_event_def_parse(name, kind, fields, &def, NULL), 0);
	def.id = id;
	ck_assert_int_eq(tsct_recording_add_def(rec, stream, &def), 0);
}

#endif /* TESTS_DEFINE_H */
