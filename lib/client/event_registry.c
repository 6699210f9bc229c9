// SPDX-License-Identifier: MIT
/*
 * Typed events: who is there, and on which channel. Each object that is loaded
 * brings its own and takes them along again. What an emit reads is one word of
 * its event, so that it sees a channel and the id in it together or not at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/event.h>

#include "lib/core/event_def.h"
#include "channel.h"

/* struct tsct_event_type.flags */
#define BOUND		0x1	/* on a channel of its own */

#define ALL		"*"
#define SEPARATORS	", \t\n"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
/* Under the lock, as is all of an event but its state */
static struct tsct_event_type *first;
static struct tsct_channel *started;
static char *started_patterns;

/* ---- a child must not inherit a lock that nobody holds ------------------- */

static void lock_all(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&lock);
}

static void follow_forks(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_all);
}

static void enter(void)
{
	pthread_once(&fork_once, follow_forks);
	pthread_mutex_lock(&lock);
}

/* ---- patterns ------------------------------------------------------------ */

static bool is_pattern_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '_' || c == '*' || c == '?';
}

/* One pattern's length, 0: what is there is none. */
static size_t pattern_len(const char *pattern)
{
	const size_t len = strcspn(pattern, SEPARATORS);
	size_t i;

	for (i = 0; i < len; i++)
		if (!is_pattern_char(pattern[i]))
			return 0;
	return len;
}

/* Linear but for the last `*`: names have 63 characters at most. */
static bool matches(const char *pattern, size_t len, const char *name)
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

/* The last pattern that matches decides. They were checked. */
static bool is_wanted(const char *patterns, const char *name)
{
	const char *at = skip_separators(patterns);
	bool wanted = *at == '-', minus;
	size_t len;

	for (; *at; at = skip_separators(at + len)) {
		minus = *at == '-';
		at += minus;
		len = pattern_len(at);
		if (matches(at, len, name))
			wanted = !minus;
	}
	return wanted;
}

/* ---- one event ------------------------------------------------------------ */

static void set_state(struct tsct_event_type *event, bool on)
{
	const uint64_t state = (uintptr_t)event->channel |
		(uint64_t)event->id << 48;

	/* Whoever finds the channel finds its memory set up. */
	__atomic_store_n(&event->state, on ? state : 0, __ATOMIC_RELEASE);
}

static void leave_channel(struct tsct_event_type *event)
{
	set_state(event, false);
	event->channel = NULL;
	event->flags &= ~BOUND;
}

static int define(struct tsct_event_type *event, struct tsct_channel *t)
{
	struct tsct_event_def def = {
		.size = TSCT_EVENT_DEF_SIZE(event->nr_fields),
		.kind = event->kind,
		.nr_fields = event->nr_fields,
	};
	int id;

	/* The event's id and its channel change together. */
	set_state(event, false);
	event->channel = NULL;
	if (strlen(event->name) >= sizeof(def.name) ||
	    event->nr_fields > TSCT_FIELDS_MAX)
		return -EINVAL;
	strcpy(def.name, event->name);
	memcpy(def.fields, event->fields,
	       event->nr_fields * sizeof(def.fields[0]));
	id = tsct_event_define_def(t, &def);
	if (id < 0)
		return id;
	/* The state has room for it wherever user space has its memory. */
	if ((uintptr_t)t >> 48)
		return -EFAULT;
	event->id = id;
	event->channel = t;
	return 0;
}

static int can_write(const struct tsct_channel *t)
{
	if (t->provider == TSCT_PROVIDER_NONE)
		return -ENODEV;
	return t->roles & TSCT_ROLE_WRITE ? 0 : -EACCES;
}

/* Follow what was started. Returns 1: it is on, 0: it is off, or -errno. */
static int follow(struct tsct_event_type *event)
{
	const bool on = is_wanted(started_patterns, event->name);
	int error = 0;

	if (event->flags & BOUND)
		return 0;
	if (event->channel != started)
		error = define(event, started);
	if (error)
		return error;
	set_state(event, on);
	return on;
}

/* ---- exports ------------------------------------------------------------- */

void tsct_event_register(struct tsct_event_type *event)
{
	enter();
	event->prev = NULL;
	event->next = first;
	if (first)
		first->prev = event;
	first = event;
	if (started)
		follow(event);
	pthread_mutex_unlock(&lock);
}

void tsct_event_unregister(struct tsct_event_type *event)
{
	enter();
	leave_channel(event);
	if (event->next)
		event->next->prev = event->prev;
	if (event->prev)
		event->prev->next = event->next;
	else
		first = event->next;
	pthread_mutex_unlock(&lock);
}

static int start(struct tsct_channel *t, char *patterns)
{
	struct tsct_event_type *event;
	int on = 0, error = 0, result;

	if (started && started != t)
		return -EBUSY;
	free(started_patterns);
	started_patterns = patterns;
	started = t;
	for (event = first; event; event = event->next) {
		result = follow(event);
		if (result < 0)
			error = result;
		else
			on += result;
	}
	return error ? error : on;
}

int tsct_events_enable(struct tsct_channel *t, const char *patterns)
{
	char *copy;
	int result;

	if (!patterns) {
		patterns = secure_getenv("TSCTRACE_EVENTS");
		if (!patterns || !*patterns)
			patterns = ALL;
	}
	if (tsct_patterns_check(patterns))
		return -EINVAL;
	result = can_write(t);
	if (result)
		return result;
	copy = strdup(patterns);
	if (!copy)
		return -ENOMEM;
	enter();
	result = start(t, copy);
	if (started_patterns != copy)
		free(copy);
	pthread_mutex_unlock(&lock);
	return result;
}

void tsct_events_disable(struct tsct_channel *t)
{
	struct tsct_event_type *event;

	if (!t)
		return;
	enter();
	for (event = first; event; event = event->next)
		if (event->channel == t)
			leave_channel(event);
	if (started == t) {
		started = NULL;
		free(started_patterns);
		started_patterns = NULL;
	}
	pthread_mutex_unlock(&lock);
}

int tsct_events_set_enabled(const char *pattern, bool on)
{
	const size_t len = pattern_len(pattern);
	struct tsct_event_type *event;
	int nr = 0;

	if (!len || pattern[len])
		return -EINVAL;
	enter();
	for (event = first; event; event = event->next) {
		if (!event->channel || !matches(pattern, len, event->name))
			continue;
		set_state(event, on);
		nr++;
	}
	pthread_mutex_unlock(&lock);
	return nr;
}

int tsct_event_bind(struct tsct_event_type *event, struct tsct_channel *t)
{
	int error = t ? can_write(t) : 0;

	if (error)
		return error;
	enter();
	leave_channel(event);
	if (t) {
		error = define(event, t);
		if (!error) {
			event->flags |= BOUND;
			set_state(event, true);
		}
	} else if (started) {
		follow(event);
		set_state(event, false);
	}
	pthread_mutex_unlock(&lock);
	return error;
}
