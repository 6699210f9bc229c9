// SPDX-License-Identifier: MIT
/* Tracepoints of the kernel: names and fields, from the descriptions in tracefs */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>
#include <tracefs.h>

#include "lib/base/array.h"
#include "probe.h"
#include "tools/common/near_name.h"

/* Largest recorded array, bytes; fields with larger arrays are left out */
#define ARRAY_MAX	256

/* Adds a field of fixed size. Arrays of characters become chars[], other arrays bytes[]. */
static int add_fixed(struct probe_fields *fields, const struct tep_format_field *f)
{
	const struct probe_step step = {
		.kind = PROBE_COPY, .len = f->size, .from = f->offset,
	};
	const bool is_array = f->flags & TEP_FIELD_IS_ARRAY;
	const bool is_text = is_array && f->flags & TEP_FIELD_IS_STRING;
	char type[32];

	if (!is_array && (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8))
		snprintf(type, sizeof(type), "%c%d%s",
			 f->flags & TEP_FIELD_IS_SIGNED ? 's' : 'u', f->size * 8,
			 f->flags & TEP_FIELD_IS_POINTER ? "/x" : "");
	else if (f->size && f->size <= ARRAY_MAX)
		snprintf(type, sizeof(type), "%s[%d]", is_text ? "chars" : "bytes",
			 f->size);
	else
		return 0;
	return probe_fields_add(fields, f->name, type, &step);
}

static int add_field(struct probe_fields *fields, const struct tep_format_field *f)
{
	const struct probe_step step = {
		.kind = f->flags & TEP_FIELD_IS_RELATIVE ? PROBE_STRING_RELATIVE :
			PROBE_STRING_DYNAMIC,
		.from = f->offset,
	};

	if (!(f->flags & TEP_FIELD_IS_DYNAMIC))
		return add_fixed(fields, f);
	/* Omit dynamic arrays other than strings, as these arrays may contain NULs. */
	if (f->flags & TEP_FIELD_IS_STRING)
		return probe_fields_add(fields, f->name, "string", &step);
	return 0;
}

/* Adds the fields of a tracepoint. Does not use tracefs_local_events_system(), which would
 * parse all events of a system and, to do so, read the addresses of all kernel functions. */
static int add_fields(struct tep_handle *tep, struct probe *probe)
{
	const struct tep_event *event = NULL;
	const struct tep_format_field *f;
	int size, err = 0;
	char *text = tracefs_event_file_read(NULL, probe->group, probe->name, "format", &size);

	/* Ignore the result of parsing, which is an error even if only the print format
	 * cannot be parsed. */
	if (tep && text) {
		tep_parse_event(tep, text, (unsigned long)size, probe->group);
		event = tep_find_event_by_name(tep, probe->group, probe->name);
	}
	free(text);
	if (!event)
		return -EINVAL;
	for (f = event->format.fields; f && !err; f = f->next)
		err = add_field(&probe->fields, f);
	return err;
}

/* Adds a system's tracepoints that match @pattern to the @nr probes. Returns the new number. */
static int find_in_system(const char *system, const char *pattern,
			  struct probe **probes, int nr)
{
	struct tep_handle *tep = tep_alloc();
	char **events = tracefs_system_events(NULL, system), **event;
	struct probe *probe;

	for (event = events; event && *event; event++) {
		if (fnmatch(pattern, *event, 0))
			continue;
		probe = tsct_array_next(probes, nr, sizeof(*probe));
		if (!probe)
			break;
		memset(probe, 0, sizeof(*probe));
		probe->type = PROBE_TRACEPOINT;
		snprintf(probe->group, sizeof(probe->group), "%s", system);
		snprintf(probe->name, sizeof(probe->name), "%s", *event);
		nr += !add_fields(tep, probe);
	}
	tracefs_list_free(events);
	tep_free(tep);
	return nr;
}

/* Finds a tracepoint with a name that is similar to a name that does not exist. */
static bool find_near(char **systems, const char *system, const char *name, char *near,
		      size_t size)
{
	char **events, **event, **at;
	bool found = false;

	for (at = systems; *at && !found; at++) {
		if (strcmp(system, *at) && !near_name(system, *at))
			continue;
		events = tracefs_system_events(NULL, *at);
		for (event = events; event && *event && !found; event++) {
			found = !strcmp(name, *event) || near_name(name, *event);
			if (found)
				snprintf(near, size, "%s:%s", *at, *event);
		}
		tracefs_list_free(events);
	}
	return found;
}

int tracepoints_find(const char *system, const char *name, struct probe **ret_probes)
{
	char **systems = tracefs_event_systems(NULL), **at, near[128];
	int nr = 0;

	*ret_probes = NULL;
	if (!systems)
		return bpf_errors_fail(-EACCES, "cannot read the kernel's tracepoints: %s; run as"
				       " root, with tracefs mounted (mount -t tracefs none"
				       " /sys/kernel/tracing)", strerror(errno));
	for (at = systems; *at; at++)
		if (!fnmatch(system, *at, 0))
			nr = find_in_system(*at, name, ret_probes, nr);
	if (!nr && find_near(systems, system, name, near, sizeof(near)))
		nr = bpf_errors_fail(-ENOENT, "%s:%s: this kernel has no such tracepoint; did you"
				     " mean '%s'?", system, name, near);
	else if (!nr)
		nr = bpf_errors_fail(-ENOENT, "%s:%s: this kernel has no such tracepoint;"
				     " 'trace-ctl list' prints all", system, name);
	tracefs_list_free(systems);
	return nr;
}
