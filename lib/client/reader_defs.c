// SPDX-License-Identifier: MIT
/* What a reader knows of the channel's events. */
#include <string.h>

#include "lib/core/event_def.h"
#include "reader.h"

/*
 * Copies what was added since, then reads the copy. Only bytes up to defs_used
 * are ever complete; what does not parse there ends it for good.
 */
static void refresh(struct tsct_reader *reader)
{
	const struct tsct_channel *t = reader->t;
	const struct tsct_channel_header *shared = (void *)t->head_map;
	/* Pairs with the provider's release behind a definition */
	__u64 used = smp_load_acquire(&shared->defs_used);
	const struct tsct_event_def *def;
	size_t pos = reader->defs_used;
	int error;

	if (reader->defs_broken || used <= pos || used > t->header.defs_size)
		return;
	memcpy(reader->defs + pos, t->head_map + t->header.defs_offset + pos,
	       used - pos);
	while ((def = tsct_event_def_next(reader->defs, used, pos, &pos, &error)))
		if (!reader->by_id[def->id])
			reader->by_id[def->id] = def;
	reader->defs_used = pos;
	reader->defs_broken = error != 0;
}

const struct tsct_event_def *tsct_reader_def(struct tsct_reader *reader,
					     unsigned int id)
{
	if (id > TSCT_ID_MAX)
		return NULL;
	if (!reader->by_id[id])
		refresh(reader);
	return reader->by_id[id];
}
