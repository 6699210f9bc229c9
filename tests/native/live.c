// SPDX-License-Identifier: MIT
/*
 * live [fork | nothread | close]...: a program that runs while providers come and go. Emits a
 * typed event and one of an id that was defined at the start, each millisecond, until
 * SIGTERM, to the channel $TSCTRACE_CHANNEL, which is made to be kept and to overwrite if
 * its name is `crash`. Then prints how many were written, and the process's other counts.
 * fork: a child does the same from the start; it prints first. nothread: no helper thread.
 * close: closes all descriptors but the standard ones, and opens other files, as programs
 * that make themselves daemons do.
 */
#include <tsctrace/event.h>

#include "helper.h"

TSCT_EVENT(live_tick, TSCT_KIND_INSTANT, TSCT_U64(nr), TSCT_U32_HEX(process));
TSCT_EVENT(live_text, TSCT_KIND_INSTANT, TSCT_STRING(text));

static volatile sig_atomic_t over;

static void stop(int number)
{
	over = 1;
}

int main(int argc, char **argv)
{
	const char *name = getenv("TSCTRACE_CHANNEL");
	struct tsct_channel_options options = { 0 };
	unsigned long typed = 0, off = 0, raw = 0, failed = 0;
	struct tsct_channel *channel;
	pid_t child = -1;
	int id, i, enabled, others[20] = { 0 }, broken = 0;
	struct stat st;

	signal(SIGTERM, stop);
	if (name && !strcmp(name, "crash")) {
		options.policy = TSCT_POLICY_OVERWRITE;
		options.channel_flags = TSCT_CHANNEL_KEEP;
	}
	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "nothread"))
			options.flags |= TSCT_OPEN_NO_THREAD;
	tsct_channel_open(&options, &channel);
	enabled = tsct_events_enable(channel, NULL);
	/* Ids that differ from those of other programs in the same channel */
	tsct_event_define(channel, "unused", TSCT_KIND_INSTANT, "a:u32");
	id = tsct_event_define(channel, "raw_tick", TSCT_KIND_INSTANT, "nr:u64");
	if (argc > 1 && !strcmp(argv[1], "fork"))
		child = fork();
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc > 1 && !strcmp(argv[1], "close")) {
		close_range(3, ~0U, 0);
		for (i = 0; i < 20; i++)
			others[i] = dup(open("/dev/null", O_RDONLY));
	}
	printf("started %d %s\n", enabled, tsct_provider_name(tsct_channel_provider(channel)));
	fflush(stdout);
	while (!over) {
		if (!live_tick_enabled())
			off++;
		else if (live_tick_emit(typed, getpid()) || live_text_emit("text"))
			failed++;
		else
			typed += 2;
		raw += !tsct_emit(channel, id, &raw, sizeof(raw));
		usleep(1000);
	}
	for (i = 0; others[0] && i < 20; i++)
		broken += fstat(others[i], &st) || !S_ISCHR(st.st_mode);
	if (child > 0) {
		kill(child, SIGTERM);
		waitpid(child, NULL, 0);
	}
	printf("%s written %lu off %lu failed %lu dropped %lu provider %s broken %d\n",
	       child ? "parent" : "child", typed + raw, off, failed,
	       (unsigned long)tsct_channel_dropped(channel),
	       tsct_provider_name(tsct_channel_provider(channel)), broken);
	tsct_channel_close(channel);
	return 0;
}
