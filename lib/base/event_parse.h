/* SPDX-License-Identifier: MIT */
#ifndef TSCT_BASE_EVENT_PARSE_H
#define TSCT_BASE_EVENT_PARSE_H

#include "lib/core/event_def.h"

/*
 * tsct_event_def_parse - make a definition from text
 * @name: event name, a C identifier
 * @kind: TSCT_KIND_*
 * @spec: "name:type" items, separated by commas or spaces: types u8 u16 u32 u64
 *        s8 s16 s32 s64 f32 f64 string bytes[N] chars[N]; suffix /x: the
 *        integer is shown in hexadecimal; suffix /syscall: as a system call's
 *        name. Example: "worker:u32, bytes:u64, what:string"
 * @ret_def: receives the definition, with id 0
 * @ret_at: position of the error in @spec; may be NULL
 *
 * Returns 0 or -EINVAL.
 */
int tsct_event_def_parse(const char *name, unsigned int kind, const char *spec,
			 struct tsct_event_def *ret_def, const char **ret_at);

#endif /* TSCT_BASE_EVENT_PARSE_H */
