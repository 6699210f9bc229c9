// SPDX-License-Identifier: MIT
/* trace-ctl channel: creates, removes and lists channels that outlive their programs, and
 * switches events of kernel modules */
#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/core/event_def.h"
#include "lib/core/ring.h"
#include "tools/common/channel_view.h"
#include "tools/common/cmd.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"

/* ---- command line ------------------------------------------------------ */

enum { KEY_BLOCK_SIZE = 256, KEY_BLOCKS, KEY_KERNEL };

struct channel_options {
	const char *action;		/* subcommand: create, remove, list, enable or
					 * disable */
	const char *name;
	const char *event;		/* argument of enable and disable */
	__u32 policy, flags, block_size, blocks;
	/* name of a given option that only create accepts; NULL: no such option was given */
	const char *create_only;
	bool json;
};

static const struct argp_option options[] = {
	{ "policy", 'p', "discard|overwrite", 0, "create: set what to lose when a ring is"
	  " full: 'discard' the new event, or 'overwrite' the oldest, as a"
	  " flight recorder (default: discard)", 0 },
	{ "block-size", KEY_BLOCK_SIZE, "BYTES", 0, "create: set the size of a"
	  " ring's blocks: 4096 to 65536, a power of two (default: 16384)", 0 },
	{ "blocks", KEY_BLOCKS, "N", 0, "create: set the number of blocks in each"
	  " CPU's ring: 2 (overwrite: 4) to 65536, a power of two (default: 64)",
	  0 },
	{ "kernel", KEY_KERNEL, NULL, 0, "create: reserve the channel for events"
	  " of the kernel; needs root and the module", 0 },
	{ "json", OPTION_FLAG(struct channel_options, json), NULL, 0, "print JSON", 0 },
	{ 0 }
};

static bool is_switch(const struct channel_options *w)
{
	return !strcmp(w->action, "enable") || !strcmp(w->action, "disable");
}

static void check_arguments(struct argp_state *state, const struct channel_options *w)
{
	bool create = !strcmp(w->action, "create");

	if (!create && !is_switch(w) && strcmp(w->action, "remove") &&
	    strcmp(w->action, "list"))
		argp_error(state, "invalid subcommand '%s'; use create, remove, list,"
			   " enable or disable", w->action);
	else if (!w->name && strcmp(w->action, "list"))
		argp_error(state, "%s: missing channel name", w->action);
	else if (is_switch(w) && !w->event)
		argp_error(state, "%s: missing event name", w->action);
	else if (!create && w->create_only)
		argp_error(state, "%s needs the subcommand create",
			   w->create_only);
	else if (create && (*w->name == '.' || !tsct_channel_name_valid(w->name)))
		argp_error(state, "create: invalid channel name '%s'; use 1 to %d"
			   " characters of A-Z a-z 0-9 _ . -, not beginning with"
			   " a dot", w->name, TSCT_NAME_MAX - 1);
	else if (create && tsct_geometry_check(w->policy, w->block_size,
					       w->blocks))
		argp_error(state, "create: invalid ring size: %u blocks of %u"
			   " bytes; use at least %d blocks, and up to 256 MiB in"
			   " all", w->blocks, w->block_size,
			   w->policy == TSCT_POLICY_OVERWRITE ?
			   TSCT_BLOCKS_MIN_OVERWRITE : TSCT_BLOCKS_MIN);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct channel_options *w = state->input;

	switch (key) {
	case 'p':
		w->policy = strcmp(arg, "overwrite") ? TSCT_POLICY_DISCARD :
			TSCT_POLICY_OVERWRITE;
		if (strcmp(arg, "overwrite") && strcmp(arg, "discard"))
			argp_error(state, "invalid policy '%s'; use discard or"
				   " overwrite", arg);
		w->create_only = "--policy";
		break;
	case KEY_BLOCK_SIZE:
		w->block_size = option_power(state, "--block-size", arg,
					   TSCT_BLOCK_SIZE_MIN,
					   TSCT_BLOCK_SIZE_MAX);
		w->create_only = "--block-size";
		break;
	case KEY_BLOCKS:
		w->blocks = option_power(state, "--blocks", arg, TSCT_BLOCKS_MIN,
				       TSCT_BLOCKS_MAX);
		w->create_only = "--blocks";
		break;
	case KEY_KERNEL:
		w->flags |= TSCT_CHANNEL_KERNEL;
		w->create_only = "--kernel";
		break;
	case ARGP_KEY_ARG:
		if (!w->action)
			w->action = arg;
		else if (!w->name && strcmp(w->action, "list"))
			w->name = arg;
		else if (w->name && !w->event && is_switch(w))
			w->event = arg;
		else
			argp_error(state, "unexpected argument '%s'", arg);
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "missing subcommand: create, remove, list, enable or"
			   " disable");
		break;
	case ARGP_KEY_END:
		if (w->action)
			check_arguments(state, w);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "create NAME\nremove NAME|ID\nlist\nenable NAME|ID PATTERN\n"
	"disable NAME|ID PATTERN",
	"Create channels that persist when the programs that use them have ended,"
	" so that their last events can be read; remove them; list all channels."
	"\vA channel is kept by the module, or by tsctraced while it runs. It"
	" counts against its owner's limits until it is removed. Root sees the"
	" channels of all users, others only their own.",
	NULL, NULL, NULL
};

/* ---- errors ------------------------------------------------------------ */

static int print_failure(const struct channel_options *w, int error)
{
	static const struct {
		char action;	/* first letter of the subcommand: create or remove */
		int error;
		const char *reason;
	} reasons[] = {
		{ 'c', EEXIST, "a channel of this name exists; use another name, or 'trace-ctl"
		  " channel remove' it first" },
		{ 'c', EPERM, "only root may create a channel for kernel events; run as root"
		  " (or with CAP_PERFMON)" },
		{ 'c', EACCES, "only root may create a channel for kernel events; run as root"
		  " (or with CAP_PERFMON)" },
		{ 'c', EOPNOTSUPP, "channels for kernel events need the module; load it" },
		{ 'c', ENOMEM, "out of memory; make the rings smaller with --blocks" },
		{ 'c', EFBIG, "exceeds the provider's file size limit; raise its 'ulimit -f'" },
		{ 'c', EINVAL, "rejected by the provider; install one version of module, daemon"
		  " and trace-ctl" },
		{ 'r', ENOENT, "already removed" },
		{ 'r', EACCES, "belongs to another user; run as that user or as root" },
		{ 'r', EPERM, "belongs to another user; run as that user or as root" },
		{ 'r', EINVAL, "not a kept channel: it is removed when the last program that"
		  " uses it ends" },
		{ 'r', ENOTTY, "not supported by the provider; install one version of module,"
		  " daemon and trace-ctl" },
	};
	const char *reason = strerror(-error);
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].action == *w->action && reasons[i].error == -error)
			reason = reasons[i].reason;
	return ctl_fail(EXIT_FAILED, "%s %s: %s", w->action, w->name, reason);
}

/* ---- create ------------------------------------------------------------ */

static int print_over_limit(const struct tsct_info *info, const char *name)
{
	char now[16], max[16], user[16];

	return ctl_fail(EXIT_FAILED,
			"create %s: memory limit exceeded: the channels of all users (%llu) hold"
			" %s; the limit is %s in all and %s per user; remove channels, or make the"
			" rings smaller with --blocks",
			name, (unsigned long long)info->channels,
			channel_view_bytes(info->bytes, now, sizeof(now)),
			channel_view_bytes(info->bytes_max, max, sizeof(max)),
			channel_view_bytes(info->bytes_user_max, user, sizeof(user)));
}

static int print_created(struct channel_list *all, const struct channel_options *w,
			 const struct listed_channel *c)
{
	json_t *json = channel_view_json(all, c, true);
	struct tsct_text policy = { 0 };
	char size[16];

	if (w->json)
		return ctl_json_print(json);
	channel_view_policy(json, &policy);
	printf("channel %s: id %u, %.*s, %u blocks of %u bytes on each CPU, %s, in"
	       " the %s\n", c->info.name, c->info.id, (int)policy.len, policy.at,
	       c->info.blocks, c->info.block_size,
	       channel_view_bytes(c->info.bytes, size, sizeof(size)),
	       channel_provider_names[c->provider]);
	free(policy.at);
	json_decref(json);
	return EXIT_DONE;
}

/*
 * Creates a channel. TSCT_IOC_CHANNEL_CREATE also opens the new channel on this
 * connection, in the role of writer, because a channel can have many writers but only
 * one reader.
 */
static int create_channel(struct channel_list *all, const struct channel_options *w)
{
	struct tsct_channel_create arg = {
		.policy = w->policy, .flags = w->flags | TSCT_CHANNEL_KEEP,
		.block_size = w->block_size, .blocks = w->blocks,
		.roles = TSCT_ROLE_WRITE, .defs_size = TSCT_CHANNEL_DEFS_SIZE,
	};
	struct listed_channel made = { 0 };
	struct provider_connection *p;
	int error;

	made.provider = channel_list_default(all);
	p = &all->providers[made.provider];
	/* Programs cannot write to a kernel channel, so open it as its reader. */
	if (w->flags & TSCT_CHANNEL_KERNEL)
		arg.roles = TSCT_ROLE_READ;
	memcpy(arg.name, w->name, strlen(w->name));
	error = provider_request(p, TSCT_IOC_CHANNEL_CREATE, &arg);
	if (error)
		return error == -EDQUOT ? print_over_limit(&p->info, w->name) :
			print_failure(w, error);
	made.info.id = arg.id - 1;
	error = provider_request(p, TSCT_IOC_CHANNEL_NEXT, &made.info);
	if (!error && made.info.id != arg.id)
		error = -ENOENT;
	made.info.name[TSCT_NAME_MAX - 1] = '\0';
	if (error)
		return ctl_fail(EXIT_FAILED, "create %s: the channel was created, but its"
			" state cannot be read: %s", w->name, strerror(-error));
	/* Do not count this process among the holders and consumers of the new channel,
	 * because it will close its connection when it ends. */
	made.info.holders -= !!made.info.holders;
	made.info.consumers -= arg.roles == TSCT_ROLE_READ &&
		made.info.consumers;
	return print_created(all, w, &made);
}

/* ---- remove ------------------------------------------------------------ */

/* Returns true if @name is the id of another user's channel, which the caller's list omits. */
static bool is_other_users(struct channel_list *all, const char *name)
{
	struct tsct_channel_attach arg = { .roles = TSCT_ROLE_READ };
	__u64 id;
	int i;

	if (!tsct_digits_read_all(name, UINT32_MAX, &id) || !id)
		return false;
	for (i = 0; i < CHANNEL_PROVIDERS; i++) {
		arg.id = id;
		if (provider_request(&all->providers[i],
				     TSCT_IOC_CHANNEL_ATTACH, &arg) == -EACCES)
			return true;
	}
	return false;
}

static int print_removed(const struct channel_options *w, const struct listed_channel *c)
{
	if (w->json)
		return ctl_json_print(json_pack(
			"{s:I, s:o, s:s, s:I}", "id", (json_int_t)c->info.id,
			"name", ctl_json_text(c->info.name), "provider",
			channel_provider_names[c->provider], "holders",
			(json_int_t)c->info.holders));
	printf("channel %s: removed", c->info.name);
	if (c->info.holders)
		printf("; its memory is freed when %u process%s close%s the channel",
		       c->info.holders, c->info.holders == 1 ? "" : "es",
		       c->info.holders == 1 ? "s" : "");
	putchar('\n');
	return EXIT_DONE;
}

static int remove_channel(struct channel_list *all, const struct channel_options *w)
{
	const struct listed_channel *c;
	bool listed = false;
	int error;

	for (c = all->at; c < all->at + all->nr; c++)
		listed |= channel_list_rank(c, w->name) > 0;
	if (!listed && is_other_users(all, w->name))
		return print_failure(w, -EACCES);
	c = channel_list_find(all, w->name);
	if (!c)
		return EXIT_FAILED;
	/* Root must give the id of another user's channel: the name may be meant for a channel
	 * of root that no longer exists. */
	if (c->info.uid != geteuid() && !strcmp(c->info.name, w->name))
		return ctl_fail(EXIT_FAILED, "remove %s: belongs to another user; to remove it,"
				" use its id, %u", w->name, c->info.id);
	error = c->info.flags & TSCT_CHANNEL_KEEP ?
		tsct_channel_remove(all->providers[c->provider].channel, c->info.id) :
		-EINVAL;
	return error ? print_failure(w, error) : print_removed(w, c);
}

/* ---- list -------------------------------------------------------------- */

static int list_channels(struct channel_list *all, const struct channel_options *w)
{
	json_t *channels = channel_view_list(all, w->json);

	if (w->json)
		return ctl_json_print(channels);
	if (all->nr)
		channel_view_print(channels, false);
	else
		puts("no channels");
	json_decref(channels);
	return EXIT_DONE;
}

/* ---- enable, disable --------------------------------------------------- */

/* Enables or disables the events that match w->event, a name or a pattern. Returns the
 * number of events that were switched, or -errno. */
static int switch_events(struct tsct_channel *channel, const struct channel_options *w)
{
	size_t used, pos = 0;
	const void *defs = tsct_channel_defs(channel, &used);
	const struct tsct_event_def *def;
	struct tsct_event_switch arg;
	int err = 0, nr = 0;

	while ((def = tsct_event_def_next(defs, used, pos, &pos, &err))) {
		if (fnmatch(w->event, def->name, 0))
			continue;
		arg = (struct tsct_event_switch) {
			.id = tsct_event_def_id(def),
			.state = strcmp(w->action, "enable") ? TSCT_EVENT_DISABLED :
				TSCT_EVENT_ENABLED,
		};
		err = tsct_channel_request(channel, TSCT_IOC_EVENT_SWITCH, &arg);
		if (!err)
			printf("event %s: %sd\n", def->name, w->action);
		if (err && err != -ENOENT)
			return err;
		nr += !err;
	}
	return nr;
}

static int switch_channel(struct channel_list *all, const struct channel_options *w)
{
	const struct listed_channel *c = channel_list_find(all, w->name);
	struct tsct_channel *channel;
	int ret;

	if (!c)
		return EXIT_FAILED;
	if (c->provider != CHANNEL_PROVIDER_MODULE)
		return ctl_fail(EXIT_FAILED, "%s: not a channel of a kernel module, "
			"so its events cannot be enabled or disabled", c->info.name);
	ret = tsct_channel_open_id(NULL, c->info.id, 0, &channel);
	if (ret) {
		ctl_error("%s", tsct_channel_error(channel));
		tsct_channel_close(channel);
		return EXIT_FAILED;
	}
	ret = switch_events(channel, w);
	if (ret < 0)
		ctl_error("%s: %s failed: %s", c->info.name,
			w->action, strerror(-ret));
	else if (!ret)
		ctl_error("%s: no event that can be enabled or disabled matches "
			"'%s'", c->info.name, w->event);
	tsct_channel_close(channel);
	return ret > 0 ? EXIT_DONE : EXIT_FAILED;
}

static int cmd_channel(int argc, char **argv)
{
	struct channel_options w = {
		.block_size = TSCT_BLOCK_SIZE_DEFAULT,
		.blocks = TSCT_BLOCKS_DEFAULT,
	};
	struct channel_list all;
	int ret = EXIT_FAILED;

	options_parse(&argp, argc, argv, 0, &w);
	channel_list_open(&all, false);
	if (!channel_list_check(&all))
		goto close;
	if (!strcmp(w.action, "create"))
		ret = create_channel(&all, &w);
	else if (channel_list_read(&all))
		goto close;
	else if (!strcmp(w.action, "remove"))
		ret = remove_channel(&all, &w);
	else
		ret = is_switch(&w) ? switch_channel(&all, &w) : list_channels(&all, &w);
close:
	channel_list_close(&all);
	return ret;
}

COMMAND(40, channel, "create, remove and list channels that outlive programs");
