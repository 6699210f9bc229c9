// SPDX-License-Identifier: MIT
/* The same definition has the same id in every process of a channel. */
#include "lib.h"
#include "lib/abi/limits.h"

static int define(struct tsct_channel *channel, unsigned int i)
{
	char name[16];

	snprintf(name, sizeof(name), "event_%u", i);
	return tsct_event_define(channel, name, i % TSCT_KIND_NR, "a:u32/x, b:string");
}

/* Defines events in the channel @inherited, or, if @inherited is null, in the channel
 * that the child opens. Stores the event ids in @ids, which is shared memory. */
static void run_child(struct tsct_channel *inherited, int16_t *ids)
{
	struct tsct_channel *channel = inherited ? inherited : lib_open(NULL);
	unsigned int i;

	for (i = 0; i < 100; i++)
		ids[i] = define(channel, i);
	_exit(0);
}

int main(void)
{
	struct tsct_channel_options reads = { .roles = TSCT_ROLE_READ };
	const struct tsct_event_def *def;
	struct tsct_reader *reader;
	struct tsct_channel *channel, *source;
	int16_t (*ids)[100];
	unsigned int i, c;
	pid_t pids[6];

	ids = mmap(NULL, sizeof(*ids) * 6, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	channel = lib_open(&reads);
	source = lib_open(NULL);
	reader = lib_reader(channel);
	for (c = 0; c < 6; c++) {
		pids[c] = fork();
		if (!pids[c])
			run_child(c % 2 ? source : NULL, ids[c]);
	}
	for (c = 0; c < 6; c++)
		t_check(!lib_status_of(pids[c]));
	for (i = 0; i < 100; i++) {
		for (c = 0; c < 6; c++)
			t_check(ids[c][i] == ids[0][i] &&
				ids[c][i] >= TSCT_ID_FIRST, "%d", ids[c][i]);
		t_check(define(source, i) == ids[0][i]);
		def = tsct_reader_def(reader, ids[0][i]);
		t_check(def && def->kind == i % TSCT_KIND_NR &&
			def->nr_fields == 2 && atoi(def->name + 6) == (int)i);
	}
	t_check(tsct_event_define(source, "bad", 0, "a:u7") == -EINVAL);
	t_check(tsct_event_define(source, "event_0", 0, "") != ids[0][0]);
	t_check(!tsct_reader_def(reader, TSCT_ID_FIRST + 101));
	tsct_reader_close(reader);
	tsct_channel_close(source);
	tsct_channel_close(channel);
	return t_status();
}
