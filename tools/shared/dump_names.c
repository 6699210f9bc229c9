// SPDX-License-Identifier: MIT
/* trace-ctl dump --names: a column of the names of threads */
#include <string.h>

#include "tools/read/dump.h"

#define NAME_WIDTH	15	/* width of the column, characters: the kernel's longest name */

char *dump_put_name(void *arg, char *at, const struct tsct_trace_event *e)
{
	const struct dump *d = arg;
	const struct tsct_identity_thread *who =
		e->tid ? tsct_identity_find(&d->identity, e->node, e->tid, e->tick) : NULL;
	const char *name = who && *who->name ? who->name : "-";
	const char *const end = at + 1 + NAME_WIDTH;

	*at++ = ' ';
	at = tsct_text_escape(at, name, strlen(name), "\\");
	while (at < end)
		*at++ = ' ';
	return at;
}
