// SPDX-License-Identifier: MIT
/* Finds the reason why a recording has no events */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd_record.h"
#include "lib/client/gettime.h"
#include "lib/client/programs.h"
#include "record_child.h"
#include "tools/common/channels.h"
#include "tools/common/view.h"

#define ANSWER_NS	1000000000LL	/* time limit of a program's answer, ns */

/* Numbers of typed events and of programs, from the reports of running programs */
struct programs {
	unsigned int on, off;	/* number of enabled, disabled events on the channel */
	unsigned int waiting;	/* number of programs whose events have no channel */
	unsigned int others;	/* number of programs of other users */
	uid_t other;		/* user id of one of these programs */
	char elsewhere[TSCT_NAME_MAX];	/* name of another channel that a program uses */
};

static void count_events(FILE *lines, const char *channel, struct programs *ret)
{
	char line[512], *at, *state, *name;
	bool waits = false;

	/* A line has the event's state, kind and channel, then more fields, separated by tabs.
	 * Untrusted programs may send other text. */
	while (fgets(line, sizeof(line), lines)) {
		at = line;
		state = strsep(&at, "\t");
		strsep(&at, "\t");
		name = strsep(&at, "\t");
		if (!at)
			continue;
		if (!strcmp(state, "none"))
			waits = true;
		else if (strcmp(name, channel))
			snprintf(ret->elsewhere, sizeof(ret->elsewhere), "%.31s", name);
		else if (!strcmp(state, "on"))
			ret->on++;
		else if (!strcmp(state, "off"))
			ret->off++;
	}
	ret->waiting += waits;
}

static void count_program(const struct tsct_program_addr *to, const char *channel,
			  struct programs *ret)
{
	char text[65536];
	struct ucred cred;
	const __s64 end = tsct_monotonic_ns() + ANSWER_NS;
	size_t len = 0;
	ssize_t n = 1;
	FILE *lines;
	int fd = tsct_program_connect(to, 200, &cred);

	if (fd < 0)
		return;
	if (cred.uid != geteuid()) {
		ret->others++;
		ret->other = cred.uid;
	} else if (send(fd, "list", 4, MSG_NOSIGNAL) == 4) {
		while (n > 0 && len < sizeof(text) && tsct_monotonic_ns() < end) {
			n = recv(fd, text + len, sizeof(text) - len, 0);
			len += n > 0 ? n : 0;
		}
		lines = len ? fmemopen(text, len, "r") : NULL;
		if (lines) {
			count_events(lines, channel, ret);
			fclose(lines);
		}
	}
	close(fd);
}

static void count_programs(const char *channel, struct programs *ret)
{
	struct tsct_program_addr to;
	FILE *list = NULL;

	memset(ret, 0, sizeof(*ret));
	while (tsct_programs_next(&list, &to))
		count_program(&to, channel, ret);
}

/* Returns the number of other processes in which the first channel is open. */
static unsigned int count_holders(const struct record_session *s)
{
	struct tsct_channel_info info;

	if (tsct_channel_own_info(s->channels[0], &info) || !info.holders)
		return 0;
	return info.holders - 1;
}

/* Returns true if this user has a channel @name of the recorder's provider. A program
 * may use a channel @name of another provider instead. */
static bool has_channel(const struct record_session *s, const char *name)
{
	struct tsct_channel_info info = { 0 };

	while (!tsct_channels_next(s->channels[0], &info))
		if (info.uid == geteuid() && !strcmp(info.name, name))
			return true;
	return false;
}

/* Returns the path of the socket or device by which a program uses the recorder's provider. */
static const char *provider_place(const struct record_session *s)
{
	const char *path = tsct_channel_socket_path(s->channels[0]);

	return path ? path : TSCT_DEVICE_PATH;
}

void record_child_look(struct record_session *s, pid_t pid)
{
	char path[64], root[64];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (!stat(path, &st) && st.st_uid != geteuid()) {
		s->owner.is_other = true;
		s->owner.uid = st.st_uid;
	}
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	n = readlink(path, root, sizeof(root));
	s->owner.has_root |= n > 1;
}

static void print_child(const struct record_session *s)
{
	const char *command = s->o->command[0];
	char user[64];

	if (s->owner.has_root)
		fprintf(stderr, "; %s changed its root directory, where %s must exist, too:"
			" bind-mount it there", command, provider_place(s));
	else if (s->owner.is_other)
		fprintf(stderr, "; %s ran as user %s, who has other channels: run"
			" trace-ctl as that user, or as root with -c ID", command,
			channel_owner_name(s->owner.uid, user, sizeof(user)));
	else
		fprintf(stderr, "; %s is not instrumented, could not reach %s (chroot,"
			" container), ran as another user, or wrote to another channel;"
			" record its kernel events with '-e sched -e syscalls'", command,
			provider_place(s));
}

/* Prints why running programs wrote no events to a recording without a command. */
static void print_programs(const struct record_session *s)
{
	const unsigned int holders = count_holders(s);
	const bool defined = tsct_reader_def(tsct_drain_reader(s->drains[0]), TSCT_ID_FIRST);
	struct programs found;
	char user[64];

	count_programs(s->names[0], &found);
	if (found.off && !found.on)
		fprintf(stderr, "; %u typed event%s of the channel %s off: 'trace-ctl events enable"
			" PATTERN' switches them on", found.off, view_plural(found.off),
			found.off == 1 ? "is" : "are");
	else if (defined)
		fputs("; events are defined there, but none was emitted", stderr);
	else if (holders)
		fprintf(stderr, "; %u process%s it open, but no event is defined there", holders,
			holders == 1 ? " has" : "es have");
	else if (*found.elsewhere && has_channel(s, found.elsewhere))
		fprintf(stderr, "; running programs use channel %s: record it with -c",
			found.elsewhere);
	else if (found.waiting)
		fprintf(stderr, "; %u running program%s no provider: 'trace-ctl events attach'"
			" lets programs try again", found.waiting,
			found.waiting == 1 ? " has" : "s have");
	else
		fprintf(stderr, "; no running program has it open: programs look for %s, in"
			" their root directory", provider_place(s));
	if (found.others && !found.on && !found.off)
		fprintf(stderr, "; %u program%s as user %s, who has other channels: record"
			" as that user, or as root with -c ID", found.others,
			found.others == 1 ? " runs" : "s run",
			channel_owner_name(found.other, user, sizeof(user)));
}

void record_print_why(const struct record_session *s, const struct record_child *child,
		      bool left_some)
{
	if (s->o->nr_events) {
		fputs("  no events: none of the selected events occurred\n", stderr);
		return;
	}
	fprintf(stderr, "  no events: no program wrote to channel %s", s->names[0]);
	if (left_some || (child && child->running))
		fputs("; processes that still run may write to it after this"
		      " recording", stderr);
	if (!child || child->running)
		print_programs(s);
	else if (tsct_reader_def(tsct_drain_reader(s->drains[0]), TSCT_ID_FIRST))
		fputs("; events are defined there, but none was emitted", stderr);
	else if (!left_some)
		print_child(s);
	fputc('\n', stderr);
}
