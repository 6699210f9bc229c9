// SPDX-License-Identifier: MIT
/* trace-ctl channel: make, remove and list channels that outlive programs */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel_view.h"
#include "tools/common/cmd.h"
#include "lib/core/ring.h"
#include "tools/common/json.h"

#define BLOCK_SIZE	16384	/* as tsct_channel_open() has it */
#define BLOCKS		64

/* ---- command line ------------------------------------------------------ */

enum { KEY_BLOCK_SIZE = 256, KEY_BLOCKS, KEY_KERNEL, KEY_JSON };

struct wanted {
	const char *action;
	const char *name;
	__u32 policy, flags, block_size, blocks;
	const char *create_only;	/* an option that only create takes */
	bool json;
};

static const struct argp_option options[] = {
	{ "policy", 'p', "POLICY", 0, "create: what happens when a ring is full:"
	  " 'discard' loses the new event, 'overwrite' the oldest ones, as a"
	  " flight recorder does (default: discard)", 0 },
	{ "block-size", KEY_BLOCK_SIZE, "BYTES", 0, "create: size of a ring's"
	  " blocks: 4096 to 65536, a power of two (default: 16384)", 0 },
	{ "blocks", KEY_BLOCKS, "N", 0, "create: blocks in each CPU's ring: 2"
	  " (overwrite: 4) to 65536, a power of two (default: 64)", 0 },
	{ "kernel", KEY_KERNEL, NULL, 0, "create: only the kernel writes it;"
	  " needs root and the module", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON", 0 },
	{ 0 }
};

static __u32 parse_size(struct argp_state *state, const char *what,
			const char *arg, __u32 min, __u32 max)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || n < min || n > max ||
	    n & (n - 1))
		argp_error(state, "%s: %s is not a number from %u to %u, a"
			   " power of two", what, arg, min, max);
	return n;
}

static void parse_policy(struct argp_state *state, struct wanted *w,
			 const char *arg)
{
	if (!strcmp(arg, "overwrite"))
		w->policy = TSCT_POLICY_OVERWRITE;
	else if (!strcmp(arg, "discard"))
		w->policy = TSCT_POLICY_DISCARD;
	else
		argp_error(state, "--policy: %s is none; there are 'discard' and"
			   " 'overwrite'", arg);
}

static void parse_argument(struct argp_state *state, struct wanted *w,
			   const char *arg)
{
	if (!w->action)
		w->action = arg;
	else if (!w->name && strcmp(w->action, "list"))
		w->name = arg;
	else
		argp_error(state, "%s: one argument too many", arg);
}

static void check_arguments(struct argp_state *state, const struct wanted *w)
{
	bool create = !strcmp(w->action, "create");

	if (!create && strcmp(w->action, "remove") && strcmp(w->action, "list"))
		argp_error(state, "%s: there are 'create', 'remove' and 'list'",
			   w->action);
	else if (!w->name && strcmp(w->action, "list"))
		argp_error(state, "%s: which channel? name it", w->action);
	else if (!create && w->create_only)
		argp_error(state, "%s is for 'create' only", w->create_only);
	else if (create && (*w->name == '.' || !tsct_channel_name_valid(w->name)))
		argp_error(state, "create: '%s' cannot be a channel's name; use"
			   " 1 to %d of A-Z a-z 0-9 _ . -, no dot in front",
			   w->name, TSCT_NAME_MAX - 1);
	else if (create && tsct_geometry_check(w->policy, w->block_size,
					       w->blocks))
		argp_error(state, "create: rings of %u blocks of %u bytes cannot"
			   " be; use at least %d blocks, and up to 256 MiB"
			   " together", w->blocks, w->block_size,
			   w->policy == TSCT_POLICY_OVERWRITE ?
			   TSCT_BLOCKS_MIN_OVERWRITE : TSCT_BLOCKS_MIN);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct wanted *w = state->input;

	switch (key) {
	case 'p':
		parse_policy(state, w, arg);
		w->create_only = "--policy";
		break;
	case KEY_BLOCK_SIZE:
		w->block_size = parse_size(state, "--block-size", arg,
					   TSCT_BLOCK_SIZE_MIN,
					   TSCT_BLOCK_SIZE_MAX);
		w->create_only = "--block-size";
		break;
	case KEY_BLOCKS:
		w->blocks = parse_size(state, "--blocks", arg, TSCT_BLOCKS_MIN,
				       TSCT_BLOCKS_MAX);
		w->create_only = "--blocks";
		break;
	case KEY_KERNEL:
		w->flags |= TSCT_CHANNEL_KERNEL;
		w->create_only = "--kernel";
		break;
	case KEY_JSON: w->json = true; break;
	case ARGP_KEY_ARG: parse_argument(state, w, arg); break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "what? 'create', 'remove' or 'list'");
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
	options, parse, "create NAME\nremove NAME|ID\nlist",
	"Make channels that stay when the programs that use them are gone, so"
	" that their last events can be read; remove them; list all there are."
	"\vWho holds it: the module, or else tsctraced (then it stays as long as"
	" that runs). It counts against its maker's limits until it is removed."
	" All channels are shown to root, else one's own.",
	NULL, NULL, NULL
};

/* ---- create ------------------------------------------------------------ */

static void complain_limits(const struct state_provider *p,
			    const struct wanted *w)
{
	char now[16], max[16], user[16];

	fprintf(stderr, "trace-ctl channel: create %s: no room left within the"
		" limits: %llu channels hold %s of %s, %s per user; remove"
		" channels, or ask for smaller rings with --blocks\n", w->name,
		(unsigned long long)p->info.channels,
		channel_view_bytes(p->info.bytes, now, sizeof(now)),
		channel_view_bytes(p->info.bytes_max, max, sizeof(max)),
		channel_view_bytes(p->info.bytes_user_max, user, sizeof(user)));
}

static const char *explain_create(int error)
{
	switch (error) {
	case -EEXIST:
		return "you have a channel of that name; take another, or"
			" 'trace-ctl channel remove' it first";
	case -EPERM:
	case -EACCES:
		return "only root may make a channel that the kernel writes; run"
			" as root (or with CAP_PERFMON)";
	case -EOPNOTSUPP:
		return "only the module has channels that the kernel writes;"
			" load it";
	case -ENOMEM:
		return "not enough memory; ask for smaller rings with --blocks";
	case -EFBIG:
		return "larger than the provider may make a file; raise its"
			" 'ulimit -f'";
	case -EINVAL:
		return "the provider refuses it; use programs of one release";
	}
	return strerror(-error);
}

static int fail_create(const struct state_provider *p, const struct wanted *w,
		       int error)
{
	if (error == -EDQUOT)
		complain_limits(p, w);
	else
		fprintf(stderr, "trace-ctl channel: create %s: %s\n", w->name,
			explain_create(error));
	return EXIT_FAILED;
}

static int show_created(struct channels *all, const struct wanted *w,
			const struct listed *c)
{
	char size[16], policy[32];

	if (w->json)
		return ctl_json_print("channel", channel_view_json(all, c));
	printf("channel %s: id %u, %s, %u blocks of %u bytes on each CPU, %s, by"
	       " the %s\n", c->info.name, c->info.id,
	       channel_view_policy(&c->info, policy, sizeof(policy)),
	       c->info.blocks, c->info.block_size,
	       channel_view_bytes(c->info.bytes, size, sizeof(size)),
	       channels_from_names[c->from]);
	return EXIT_DONE;
}

/*
 * Making it binds our descriptor to it; it stays when that is closed. The role
 * must be one, and a reader would keep others away.
 */
static int create(struct channels *all, const struct wanted *w)
{
	struct tsct_channel_create arg = {
		.policy = w->policy, .flags = w->flags | TSCT_CHANNEL_KEEP,
		.block_size = w->block_size, .blocks = w->blocks,
		.roles = TSCT_ROLE_WRITE,
	};
	struct listed made;
	int from, error;

	if (!channels_found(all, "channel"))
		return EXIT_FAILED;
	from = channels_first(all);
	/* User programs have no such role there. */
	if (w->flags & TSCT_CHANNEL_KERNEL)
		arg.roles = TSCT_ROLE_READ;
	memcpy(arg.name, w->name, strlen(w->name));
	error = state_provider_ask(&all->from[from], TSCT_IOC_CHANNEL_CREATE,
				   &arg);
	if (error)
		return fail_create(&all->from[from], w, error);
	made.from = from;
	error = channels_ask(all, from, arg.id, &made.info);
	if (error) {
		fprintf(stderr, "trace-ctl channel: create %s: it was made, but"
			" is gone: %s\n", w->name, strerror(-error));
		return EXIT_FAILED;
	}
	/* We ourselves are gone in a moment. */
	made.info.holders -= !!made.info.holders;
	made.info.consumers -= arg.roles == TSCT_ROLE_READ &&
		made.info.consumers;
	return show_created(all, w, &made);
}

/* ---- remove ------------------------------------------------------------ */

static const char *explain_remove(int error)
{
	switch (error) {
	case -ENOENT:
		return "it has just gone";
	case -EACCES:
	case -EPERM:
		return "it belongs to another user; run as that user or as root";
	case -EINVAL:
		return "is not kept: it goes by itself when the last program"
			" that holds it ends";
	case -ENOTTY:
		return "the provider cannot; use programs of one release";
	}
	return strerror(-error);
}

static int fail_remove(const char *name, int error)
{
	fprintf(stderr, "trace-ctl channel: remove %s: %s\n", name,
		explain_remove(error));
	return EXIT_FAILED;
}

static bool is_listed(const struct channels *all, const char *name)
{
	char id[16];
	size_t i;

	for (i = 0; i < all->nr; i++) {
		snprintf(id, sizeof(id), "%u", all->at[i].info.id);
		if (!strcmp(all->at[i].info.name, name) || !strcmp(id, name))
			return true;
	}
	return false;
}

/* An id that is not listed may be somebody else's: the provider tells. */
static bool is_others(struct channels *all, const char *name)
{
	struct tsct_channel_attach arg = { .roles = TSCT_ROLE_READ };
	unsigned long id;
	char *end;
	int from;

	id = strtoul(name, &end, 10);
	if (*name < '1' || *name > '9' || *end || id > ~0U)
		return false;
	for (from = 0; from < CHANNELS_FROM; from++) {
		arg.id = id;
		if (state_provider_ask(&all->from[from],
				       TSCT_IOC_CHANNEL_ATTACH, &arg) == -EACCES)
			return true;
	}
	return false;
}

static int show_removed(const struct wanted *w, const struct listed *c)
{
	if (w->json)
		return ctl_json_print("channel", json_pack(
			"{s:I, s:o, s:s, s:I}", "id", (json_int_t)c->info.id,
			"name", ctl_json_text(c->info.name), "provider",
			channels_from_names[c->from], "holders",
			(json_int_t)c->info.holders));
	printf("channel %s: removed", c->info.name);
	if (c->info.holders)
		printf("; it goes when those who hold it close it (%u)",
		       c->info.holders);
	putchar('\n');
	return EXIT_DONE;
}

static int remove_channel(struct channels *all, const struct wanted *w)
{
	const struct listed *c;
	int error;

	if (!channels_found(all, "channel") || channels_list(all, "channel"))
		return EXIT_FAILED;
	if (!is_listed(all, w->name) && is_others(all, w->name))
		return fail_remove(w->name, -EACCES);
	c = channels_find(all, "channel", w->name);
	if (!c)
		return EXIT_FAILED;
	/* Whose it is must be meant: root may have had one of that name. */
	if (c->info.uid != geteuid() && !strcmp(c->info.name, w->name)) {
		fprintf(stderr, "trace-ctl channel: remove %s: it is another"
			" user's; to remove it all the same, give its id, %u\n",
			w->name, c->info.id);
		return EXIT_FAILED;
	}
	error = c->info.flags & TSCT_CHANNEL_KEEP ?
		tsct_channel_remove(all->from[c->from].channel, c->info.id) :
		-EINVAL;
	return error ? fail_remove(w->name, error) : show_removed(w, c);
}

/* ---- list -------------------------------------------------------------- */

static int list_channels(struct channels *all, const struct wanted *w)
{
	json_t *json;
	size_t i;

	if (!channels_found(all, "channel") || channels_list(all, "channel"))
		return EXIT_FAILED;
	if (w->json) {
		json = json_array();
		for (i = 0; i < all->nr; i++)
			json_array_append_new(json, channel_view_json(all,
							&all->at[i]));
		return ctl_json_print("channel", json);
	}
	if (!all->nr) {
		puts("no channels");
		return EXIT_DONE;
	}
	channel_view_head(stdout);
	for (i = 0; i < all->nr; i++)
		channel_view_line(stdout, &all->at[i]);
	return EXIT_DONE;
}

int cmd_channel(int argc, char **argv)
{
	struct wanted w = { .block_size = BLOCK_SIZE, .blocks = BLOCKS };
	struct channels all;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &w);
	channels_open(&all, false);
	if (!strcmp(w.action, "create"))
		ret = create(&all, &w);
	else if (!strcmp(w.action, "remove"))
		ret = remove_channel(&all, &w);
	else
		ret = list_channels(&all, &w);
	channels_close(&all);
	return ret;
}
