// SPDX-License-Identifier: MIT
/* What a recording says about itself before it begins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>

#include "lib/clock/clock_source.h"
#include "cmd_record.h"
#include "lib/clock/clock_sample.h"

/* As a shell would take it back. */
static void put_word(FILE *to, const char *word)
{
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_-+=:,./@%";

	if (*word && strspn(word, plain) == strlen(word)) {
		fputs(word, to);
		return;
	}
	putc('\'', to);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", to);
		else
			putc(*word, to);
	putc('\'', to);
}

static char *command_line(char **command)
{
	char *text = NULL, **word;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return NULL;
	for (word = command; word && *word; word++) {
		if (word != command)
			putc(' ', to);
		put_word(to, *word);
	}
	return fclose(to) ? NULL : text;
}

static void make_uuid(__u8 uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		memset(uuid, 0, 16);
	uuid[6] = (uuid[6] & 0x0f) | 0x40;	/* RFC 4122, version 4 */
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static const char *providers(const struct record_session *s)
{
	return tsct_provider_name(tsct_channel_provider(s->channels[0]));
}

static bool is_named(const struct record_session *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < s->nr_programs; i++)
		if (!strcmp(s->names[i], name))
			return true;
	return false;
}

/* No other stream may have it. */
static const char *kernel_name(const struct record_session *s)
{
	if (!is_named(s, "kernel"))
		return "kernel";
	return is_named(s, "kernel-events") ? "kernel-events-recorded" :
		"kernel-events";
}

static int describe_node(const struct record_session *s,
			 struct tsct_recorded_node *node)
{
	struct utsname uts;

	uname(&uts);
	memcpy(node->uuid, s->rec.uuid, sizeof(node->uuid));
	tsct_boot_id(node->boot_id);
	node->host = strdup(uts.nodename);
	node->kernel = strdup(uts.release);
	node->command = command_line(s->o->command);
	node->provider = strdup(providers(s));
	return node->host && node->kernel && node->command && node->provider ?
		0 : -ENOMEM;
}

static __u32 count_cpus(const struct record_session *s)
{
	__u32 nr = 0, here;
	unsigned int i;

	for (i = 0; i < s->nr_channels; i++) {
		here = tsct_channel_info(s->channels[i])->nr_cpus;
		if (here > nr)
			nr = here;
	}
	return nr;
}

int record_describe(struct record_session *s)
{
	struct tsct_recording *rec = &s->rec;
	const struct tsct_channel_header *header;
	unsigned int i;
	int err;

	make_uuid(rec->uuid);
	err = tsct_recording_make(rec, 1);
	if (!err)
		err = describe_node(s, &rec->nodes[0]);
	if (!err)
		err = tsct_recording_locate(rec, count_cpus(s));
	if (!err)
		err = record_machine(&rec->nodes[0], rec->nr_locations);
	if (err)
		return err;
	rec->clock_origin = strdup(tsct_clock_origin(s->clock));
	if (!rec->clock_origin)
		return -ENOMEM;
	for (i = 0; i < s->nr_channels; i++) {
		header = tsct_channel_info(s->channels[i]);
		err = tsct_recording_add_stream(rec, i < s->nr_programs ?
						s->names[i] : kernel_name(s));
		if (err < 0)
			return err;
		rec->streams[i].policy = header->policy;
		rec->streams[i].kernel = !!(header->flags & TSCT_CHANNEL_KERNEL);
	}
	rec->source = tsct_channel_info(s->channels[0])->source;
	rec->timestamps = s->o->timestamps;
	rec->sync_every = s->o->sync_every;
	rec->fsync = s->o->fsync;
	return 0;
}
