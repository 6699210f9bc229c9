// SPDX-License-Identifier: MIT
#include "lib/core/event_def.h"
#include "samples_wire.h"

/* No channel's files may have the same name. */
static void find_name(const struct tsct_recording *rec, char *name)
{
	__u32 i = 0;

	strcpy(name, "sync");
	while (i < rec->nr_streams) {
		if (strcmp(rec->streams[i++].name, name))
			continue;
		strcat(name, "_");
		i = 0;
	}
}

int tsct_recording_add_samples(struct tsct_recording *rec)
{
	char name[TSCT_STREAMS_MAX + 8];
	struct tsct_event_def def;
	int err;

	find_name(rec, name);
	err = tsct_recording_add_sync(rec, name);
	if (!err)
		err = tsct_event_def_parse(TSCT_SAMPLE_EVENT, TSCT_KIND_INSTANT,
				     TSCT_SAMPLE_FIELDS, &def, NULL);
	if (err)
		return err;
	def.id = TSCT_ID_FIRST;
	return tsct_recording_add_def(rec, rec->nr_streams, &def);
}

__u32 tsct_sample_encode(const struct tsct_sync_sample *s, void *to)
{
	const struct sample_wire wire = {
		.number = s->number, .t1 = s->x.t1, .t2 = s->x.t2,
		.t3 = s->x.t3, .t4 = s->x.t4, .local_error = s->x.local_error,
		.remote_error = s->x.remote_error, .session = s->x.session,
		.flags = s->x.flags, .fitted = s->fitted, .kept = s->kept,
		.node = s->node, .host = s->host, .master = s->master,
		.timeline = s->timeline, .status = s->status,
		.depth = s->depth, .has_line = s->has_line,
		.line_base = s->line.base, .line_base_ns = s->line.base_ns,
		.line_mult = s->line.mult, .line_as_of = s->line.as_of,
		.line_error_ps = s->line.error_ps,
		.line_growth = s->line.growth, .clock_epoch = s->clock_epoch,
		.cluster_epoch = s->cluster_epoch,
	};
	size_t len = strnlen(s->source, sizeof(s->source) - 1);

	memcpy(to, &wire, sizeof(wire));
	memcpy((char *)to + sizeof(wire), s->source, len);
	((char *)to)[sizeof(wire) + len] = '\0';
	return sizeof(wire) + len + 1;
}
