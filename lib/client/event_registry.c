// SPDX-License-Identifier: MIT
/*
 * Definitions of events: the ids of a handle, and the registry of typed events,
 * with the channel that each event is enabled on. Every loaded object registers
 * its own events and unregisters them when it is unloaded. An emit reads one
 * word of its event: the channel's address and the event's id.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/event.h>

#include "lib/base/hash.h"
#include "lib/base/index.h"
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "channel.h"

#define IDS_MAX		(TSCT_ID_WIDE_MAX - TSCT_ID_FIRST + 1)	/* number of ids in a channel */
#define IDS_PART	4096	/* number of ids in one part of the table of ids */

/* Flags of struct tsct_event_type */
/* the event was put on a channel by tsct_event_bind() */
#define BOUND		0x1
/* the event is to be enabled as soon as its channel can be opened */
#define WANTED		0x2
/* the event has no definition in its channel: each emit is counted as refused */
#define REFUSED		0x4
/* bits of the event's id above those in struct tsct_event_type.id */
#define ID_HIGH_SHIFT	16

#define SEPARATORS	", \t\n"

static pthread_mutex_t event_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
/* Variables protected by `event_mutex`, which also protects all members of struct tsct_event_type
 * except `state` */
static struct tsct_event_type *first_event;
static struct tsct_channel *enabled_channel;
static char *enabled_patterns;

/* ---- definitions, and the ids of handles -------------------------------- */

/*
 * Table of event ids. In a handle, `def` of entry i is an event that the program has defined;
 * the program uses the id TSCT_ID_FIRST + i for the event. The channel uses the same ids,
 * unless the handle has a target: the program may define events before there is a channel,
 * and may get another channel later. In a target, `id` of entry i is the target's id for the
 * handle's event i. The table never moves, as signal handlers may be reading it: its parts are
 * allocated when they are needed.
 */
struct tsct_handle_ids {
	unsigned int nr;		/* highest index of an entry in use, plus 1 */
	/* of a handle: 1 + index of the first entry with a definition; key: the
	 * definition's hash */
	struct tsct_index known;
	struct handle_id {
		struct tsct_event_def *def;	/* event of a handle; NULL: none */
		__u32 id;			/* id in a target; 0: none */
	} *part[(IDS_MAX + IDS_PART - 1) / IDS_PART];
};

/* Returns entry @i, or NULL. */
static struct handle_id *ids_at(const struct tsct_handle_ids *ids, unsigned int i)
{
	struct handle_id *part = ids && i < IDS_MAX ?
		__atomic_load_n(&ids->part[i / IDS_PART], __ATOMIC_ACQUIRE) : NULL;

	return part ? &part[i % IDS_PART] : NULL;
}

unsigned int tsct_channel_id(const struct tsct_channel *target, unsigned int id)
{
	const struct handle_id *at = ids_at(__atomic_load_n(&target->ids, __ATOMIC_ACQUIRE),
					    id - TSCT_ID_FIRST);

	return at ? __atomic_load_n(&at->id, __ATOMIC_RELAXED) : 0;
}

static const struct tsct_event_def *ids_def(const struct tsct_channel *channel,
					    unsigned int i)
{
	const struct handle_id *at = ids_at(channel->ids, i);

	return at ? at->def : NULL;
}

/* Returns the index of the first entry with the definition @def; or -1 and an unused key. */
static int ids_find(const struct tsct_handle_ids *ids, const struct tsct_event_def *def,
		    __u64 ret_key[2])
{
	const __u64 *known;

	ret_key[0] = tsct_hash_event_def(0, def);
	for (ret_key[1] = 0; ; ret_key[1]++) {
		known = tsct_index_get(&ids->known, ret_key[0], ret_key[1]);
		if (!known)
			return -1;
		if (tsct_event_def_equal(ids_at(ids, (unsigned int)*known - 1)->def, def))
			return (int)*known - 1;
	}
}

/* Sets entry @i of the table of a handle (@def is set, @id is 0) or of a target (@def is NULL).
 * The caller holds the handle's ids_lock. Returns the handle's id of the event, or -errno. */
static int ids_put(struct tsct_channel *channel, unsigned int i,
		   const struct tsct_event_def *def, __u32 id)
{
	struct tsct_handle_ids *ids = channel->ids;
	struct tsct_event_def *copy;
	struct handle_id *part;
	__u64 key[2];

	if (i >= IDS_MAX)
		return -ENOSPC;
	if (!ids) {
		ids = calloc(1, sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		__atomic_store_n(&channel->ids, ids, __ATOMIC_RELEASE);
	}
	if (!ids->part[i / IDS_PART]) {
		part = calloc(IDS_PART, sizeof(*part));
		if (!part)
			return -ENOMEM;
		__atomic_store_n(&ids->part[i / IDS_PART], part, __ATOMIC_RELEASE);
	}
	if (def) {
		copy = malloc(def->size);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, def, def->size);
		tsct_event_def_set_id(copy, 0);
		if (ids_find(ids, def, key) < 0 &&
		    !tsct_index_put(&ids->known, key[0], key[1], i + 1)) {
			free(copy);
			return -ENOMEM;
		}
		ids_at(ids, i)->def = copy;
	}
	__atomic_store_n(&ids_at(ids, i)->id, id, __ATOMIC_RELAXED);
	if (i >= ids->nr)
		ids->nr = i + 1;
	return TSCT_ID_FIRST + i;
}

void tsct_channel_ids_free(struct tsct_channel *channel)
{
	struct tsct_handle_ids *ids = channel->ids;
	struct handle_id *at;
	unsigned int i;

	while (ids && ids->nr) {
		at = ids_at(ids, --ids->nr);
		if (at)
			free(at->def);
	}
	for (i = 0; ids && i < sizeof(ids->part) / sizeof(ids->part[0]); i++)
		free(ids->part[i]);
	if (ids)
		tsct_index_free(&ids->known);
	free(ids);
	channel->ids = NULL;
}

/* Adds to the handle's table the events that other handles and programs have defined in the
 * handle's channel: this program may use their ids, too. The channel's memory has no
 * definitions if the server has freed the memory, because no client was connected. */
static int ids_copy(struct tsct_channel *channel)
{
	const struct tsct_event_def *def;
	size_t used, pos = 0;
	const void *defs = tsct_channel_defs(channel, &used);
	void *copy = malloc(used + 1);
	int err = copy ? 0 : -ENOMEM, unused;
	unsigned int i;

	if (copy)
		memcpy(copy, defs, used);
	while (!err && (def = tsct_event_def_next(copy, used, pos, &pos, &unused))) {
		i = tsct_event_def_id(def) - TSCT_ID_FIRST;
		if (i < IDS_MAX && !ids_def(channel, i))
			err = ids_put(channel, i, def, 0) < 0 ? -ENOMEM : 0;
	}
	free(copy);
	return err;
}

/* Defines an event in the channel. Restores all of *def but the id afterwards, as
 * the provider's reply may have changed any member. Returns the id or -errno. */
static int define_by_provider(struct tsct_channel *channel, struct tsct_event_def *def)
{
	const struct tsct_event_def sent = *def;
	int err, id;

	if (channel->provider == TSCT_PROVIDER_NONE)
		return -ENODEV;
	err = tsct_channel_request(channel, TSCT_IOC_DEFINE, def);
	id = def->id == TSCT_ID_WIDE ? (int)(def->size | (__u32)def->id_high << 16) : def->id;
	*def = sent;
	if (err)
		return err;
	tsct_event_def_set_id(def, (__u32)id);
	return id < TSCT_ID_FIRST || id > TSCT_ID_WIDE_MAX ? -EPROTO : id;
}

/* Defines a handle's events in a new target. Events for which the target has no room are not
 * recorded there. Returns 0 or -errno. */
static int define_all(struct tsct_channel *channel, struct tsct_channel *target)
{
	const struct tsct_event_def *known;
	struct tsct_event_def def;
	unsigned int i;
	int id, err = 0;

	for (i = 0; !err && channel->ids && i < channel->ids->nr; i++) {
		known = ids_def(channel, i);
		if (!known)
			continue;
		memset(&def, 0, sizeof(def));
		memcpy(&def, known, known->size);
		id = define_by_provider(target, &def);
		if (id > 0)
			id = ids_put(target, i, NULL, id);
		err = id < 0 && id != -ENOSPC ? id : 0;
	}
	return err;
}

/* Defines all events in the target before the first event is written there. */
int tsct_channel_move(struct tsct_channel *channel, struct tsct_channel *target)
{
	int err = 0;

	pthread_mutex_lock(&channel->ids_lock);
	if (channel->head_map && !channel->target)
		err = ids_copy(channel);
	if (!err)
		err = define_all(channel, target);
	if (!err) {
		/* The fast path would write to the handle's own channel; the slow path
		 * uses the target. */
		tsct_emit_disable_fast(channel);
		target->replaced = channel->target;
		tsct_events_move(channel, target);
	}
	pthread_mutex_unlock(&channel->ids_lock);
	return err;
}

/* Defines an event for a handle that has no channel yet, or that has a target. The caller
 * holds ids_lock. Returns the handle's id of the event, or -errno. */
static int define_by_handle(struct tsct_channel *channel, struct tsct_event_def *def)
{
	struct tsct_channel *target = tsct_channel_target(channel);
	int id = 0, result, i;
	__u64 key[2];

	i = channel->ids ? ids_find(channel->ids, def, key) : -1;
	if (target != channel)
		id = define_by_provider(target, def);
	if (id < 0)
		return id;
	result = i >= 0 ? TSCT_ID_FIRST + i :
		ids_put(channel, channel->ids ? channel->ids->nr : 0, def, 0);
	return result > 0 && id ? ids_put(target, (unsigned int)result - TSCT_ID_FIRST, NULL, id) :
		result;
}

/* Defines an event in the handle's own channel, and keeps the definition if the handle may
 * get a target. */
static int define_and_keep(struct tsct_channel *channel, struct tsct_event_def *def)
{
	int id = define_by_provider(channel, def);

	if (id < 0 || !channel->opening)
		return id;
	pthread_mutex_lock(&channel->ids_lock);
	/* The helper thread may have set a target since the caller looked. */
	if (tsct_channel_target(channel) != channel) {
		tsct_event_def_set_id(def, 0);
		id = define_by_handle(channel, def);
	} else if (!ids_def(channel, id - TSCT_ID_FIRST)) {
		id = ids_put(channel, id - TSCT_ID_FIRST, def, 0);
	}
	pthread_mutex_unlock(&channel->ids_lock);
	return id;
}

int tsct_event_define(struct tsct_channel *channel, const char *name,
		      unsigned int kind, const char *fields)
{
	struct tsct_event_def def;
	int err;

	if (!name)
		return -EINVAL;
	err = tsct_event_def_parse(name, kind, fields ? fields : "", &def, NULL);
	if (err)
		return err;
	if (channel->provider != TSCT_PROVIDER_NONE && tsct_channel_target(channel) == channel)
		return define_and_keep(channel, &def);
	pthread_mutex_lock(&channel->ids_lock);
	err = define_by_handle(channel, &def);
	pthread_mutex_unlock(&channel->ids_lock);
	return err;
}

/* ---- the lock: held during fork(), so that the child can unlock it -------- */

static void registry_lock(void)
{
	pthread_mutex_lock(&event_mutex);
}

static void registry_unlock(void)
{
	pthread_mutex_unlock(&event_mutex);
}

static void handle_forks(void)
{
	pthread_atfork(registry_lock, registry_unlock, registry_unlock);
}

void tsct_events_prepare(void)
{
	pthread_once(&fork_once, handle_forks);
}

static void registry_enter(void)
{
	tsct_events_prepare();
	registry_lock();
}

/* ---- patterns ------------------------------------------------------------ */

/* Returns the length of the pattern that begins at @pattern; 0: it is invalid. */
static size_t pattern_len(const char *pattern)
{
	const size_t len = strcspn(pattern, SEPARATORS);

	return strspn(pattern, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		      "0123456789_*?") == len ? len : 0;
}

/*
 * Compares a name with a pattern. Backtracks to the last `*` only, so the number of
 * steps is at most the product of both lengths; names have up to 63 characters.
 */
static bool matches_pattern(const char *pattern, size_t len, const char *name)
{
	const char *const end = pattern + len;
	const char *star = NULL, *resume = NULL;

	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resume = name;
		} else if (pattern < end &&
			   (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

static const char *skip_separators(const char *at)
{
	return at + strspn(at, SEPARATORS);
}

int tsct_patterns_check(const char *patterns)
{
	const char *at = skip_separators(patterns);
	size_t len;

	for (; *at; at = skip_separators(at + len)) {
		at += *at == '-';
		len = pattern_len(at);
		if (!len)
			return -EINVAL;
	}
	return 0;
}

/* Returns true if @patterns enable the event: the last pattern that matches decides. */
static bool is_selected(const char *patterns, const char *name)
{
	const char *at = skip_separators(patterns);
	bool selected = *at == '-', minus;
	size_t len;

	for (; *at; at = skip_separators(at + len)) {
		minus = *at == '-';
		at += minus;
		len = pattern_len(at);
		if (matches_pattern(at, len, name))
			selected = !minus;
	}
	return selected;
}

/* ---- one event ------------------------------------------------------------ */

static void set_state(struct tsct_event_type *event, bool on)
{
	struct tsct_channel *to = event->channel ? tsct_channel_target(event->channel) : NULL;
	uint64_t state;

	if (on && to && (event->flags & REFUSED || event->flags >> ID_HIGH_SHIFT))
		to = tsct_channel_wide(to, event->flags >> ID_HIGH_SHIFT);
	state = on && to ? (uintptr_t)to | (uint64_t)event->id << 48 : 0;
	/*
	 * Stores the event's state by release, so that an emit that reads the state
	 * also reads a complete channel.
	 */
	__atomic_store_n(&event->state, state, __ATOMIC_RELEASE);
}

static void leave_channel(struct tsct_event_type *event)
{
	set_state(event, false);
	event->channel = NULL;
	event->flags = 0;
}

/* Defines the event in @target. Returns its id or -errno. */
static int define_in_target(const struct tsct_event_type *event, struct tsct_channel *target)
{
	struct tsct_event_def def = {
		.size = TSCT_EVENT_DEF_SIZE(event->nr_fields),
		.kind = event->kind,
		.nr_fields = event->nr_fields,
	};

	/* The state has 48 bits for a channel's address. Higher addresses are unusual, and
	 * are rejected. */
	if ((uintptr_t)target >> 48)
		return -EFAULT;
	if (strlen(event->name) >= sizeof(def.name) ||
	    event->nr_fields > TSCT_FIELDS_MAX)
		return -EINVAL;
	strcpy(def.name, event->name);
	memcpy(def.fields, event->fields,
	       event->nr_fields * sizeof(def.fields[0]));
	return define_by_provider(target, &def);
}

/*
 * Defines the event in @channel, and leaves the event disabled. Returns 0 or
 * -errno. After -errno, if the channel has a provider, each emit of the event
 * while it is enabled is refused and counted.
 */
static int define_event(struct tsct_event_type *event, struct tsct_channel *channel)
{
	struct tsct_channel *target = tsct_channel_target(channel);
	const int id = define_in_target(event, target);
	const bool refused = id < 0 &&
		(target->provider != TSCT_PROVIDER_NONE || target->refusals);

	set_state(event, false);
	event->flags = (event->flags & (BOUND | WANTED)) | (refused ? REFUSED : 0) |
		(id > 0 ? (__u32)id >> 16 << ID_HIGH_SHIFT : 0);
	event->channel = id > 0 || refused ? channel : NULL;
	event->id = refused ? TSCT_ID_MAX : (__u16)id;	/* the handle wide[0] refuses any id */
	return id < 0 ? id : 0;
}

static int check_writable(const struct tsct_channel *channel)
{
	channel = tsct_channel_target(channel);
	if (channel->refusals)		/* counts the handle's events as lost */
		return 0;
	if (channel->provider == TSCT_PROVIDER_NONE)
		return -ENODEV;
	return channel->roles & TSCT_ROLE_WRITE ? 0 : -EACCES;
}

/* Applies the enabled patterns. Returns 1: event enabled, 0: disabled, or -errno. */
static int apply_patterns(struct tsct_event_type *event)
{
	const bool on = is_selected(enabled_patterns, event->name);
	int err = 0;

	if (event->flags & BOUND)
		return 0;
	if (event->channel != enabled_channel || event->flags & REFUSED)
		err = define_event(event, enabled_channel);
	set_state(event, on);
	return err ? err : on;
}

/* ---- functions for other files, and public functions ----------------------- */

void tsct_event_register(struct tsct_event_type *event)
{
	registry_enter();
	event->prev = NULL;
	event->next = first_event;
	if (first_event)
		first_event->prev = event;
	first_event = event;
	if (enabled_channel)
		apply_patterns(event);
	registry_unlock();
}

void tsct_event_unregister(struct tsct_event_type *event)
{
	registry_enter();
	leave_channel(event);
	if (event->next)
		event->next->prev = event->prev;
	if (event->prev)
		event->prev->next = event->next;
	else
		first_event = event->next;
	registry_unlock();
}

int tsct_events_use(struct tsct_channel *channel, const char *patterns, int *ret_on)
{
	struct tsct_event_type *event;
	char *copy = strdup(patterns);
	int result, on = 0, err = 0;

	if (!copy)
		return -ENOMEM;
	registry_enter();
	result = check_writable(channel);
	if (!result && enabled_channel && enabled_channel != channel)
		result = -EBUSY;
	/* If the channel may be opened later, stores the patterns until then. */
	if (result && (result != -ENODEV || !channel->opening || enabled_channel)) {
		registry_unlock();
		free(copy);
		return result;
	}
	free(enabled_patterns);
	enabled_patterns = copy;
	enabled_channel = channel;
	if (result) {
		registry_unlock();
		return result;
	}
	for (event = first_event; event; event = event->next) {
		result = apply_patterns(event);
		if (result < 0)
			err = result;
		else
			on += result;
	}
	registry_unlock();
	*ret_on = err ? err : on;
	return 0;
}

void tsct_events_disable(struct tsct_channel *channel)
{
	struct tsct_event_type *event;

	if (!channel)
		return;
	registry_enter();
	for (event = first_event; event; event = event->next)
		if (event->channel == channel)
			leave_channel(event);
	if (enabled_channel == channel) {
		enabled_channel = NULL;
		free(enabled_patterns);
		enabled_patterns = NULL;
	}
	registry_unlock();
}

int tsct_events_set_enabled(const char *pattern, bool on)
{
	const size_t len = pattern_len(pattern);
	struct tsct_event_type *event;
	int nr = 0;

	if (!len || pattern[len])
		return -EINVAL;
	registry_enter();
	for (event = first_event; event; event = event->next) {
		if (!event->channel || !matches_pattern(pattern, len, event->name))
			continue;
		if (event->flags & WANTED)
			continue;
		set_state(event, on);
		nr++;
	}
	registry_unlock();
	return nr;
}

int tsct_event_bind(struct tsct_event_type *event, struct tsct_channel *channel)
{
	int err = 0;

	registry_enter();
	if (channel)
		err = check_writable(channel);
	if (err && (err != -ENODEV || !channel->opening)) {
		registry_unlock();
		return err;
	}
	leave_channel(event);
	if (err) {
		event->channel = channel;
		event->flags |= BOUND | WANTED;
	} else if (channel) {
		err = define_event(event, channel);
		event->flags |= event->channel ? BOUND : 0;
		set_state(event, true);
	} else if (enabled_channel) {
		apply_patterns(event);
		set_state(event, false);
	}
	registry_unlock();
	return err;
}

void tsct_events_move(struct tsct_channel *channel, struct tsct_channel *target)
{
	struct tsct_event_type *event;
	bool on;

	registry_enter();
	if (target)
		__atomic_store_n(&channel->target, target, __ATOMIC_RELEASE);
	for (event = first_event; event; event = event->next) {
		on = event->state || event->flags & WANTED;
		if (event->channel == channel && (target || event->flags & WANTED)) {
			/* If the event cannot be defined now, the next call tries again. */
			event->flags &= ~WANTED;
			if (define_event(event, channel) && event->flags & BOUND)
				event->flags |= WANTED;
			set_state(event, on);
			event->channel = event->flags & WANTED ? channel : event->channel;
		} else if (enabled_channel == channel &&
			   (!event->channel || event->flags & REFUSED)) {
			apply_patterns(event);
		}
	}
	registry_unlock();
}

/* ---- descriptions -------------------------------------------------------- */

static void describe_event(const struct tsct_event_type *event, FILE *to)
{
	const struct tsct_channel_header *header =
		event->channel ? tsct_channel_info(event->channel) : NULL;
	const struct tsct_field *field = event->fields;
	unsigned int i;

	fprintf(to, "%s\t%s\t%s\t%s\t", !header ? "none" : !event->state ? "off" :
		event->flags & REFUSED ? "refused" : "on",
		event->kind < TSCT_KIND_NR ? tsct_kind_names[event->kind] : "?",
		header ? header->name : "", event->name);
	for (i = 0; i < event->nr_fields; i++, field++) {
		fprintf(to, "%s%s:%s", i ? "," : "", field->name,
			field->type < TSCT_TYPE_NR ? tsct_field_types[field->type].name :
			"?");
		if (field->count)
			fprintf(to, "[%u]", field->count);
		if (field->format == TSCT_FORMAT_HEX)
			fputs("/x", to);
	}
	fputc('\n', to);
}

void tsct_events_describe(FILE *to)
{
	const struct tsct_event_type *event;

	registry_enter();
	for (event = first_event; event; event = event->next)
		describe_event(event, to);
	registry_unlock();
}
