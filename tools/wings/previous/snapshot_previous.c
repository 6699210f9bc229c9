// SPDX-License-Identifier: MIT
/* trace-ctl snapshot --previous-boot: copies channels and clock from reserved memory */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "previous_boot.h"
#include "tools/common/error.h"
#include "tools/record/cmd_record.h"

/* Returns a text with the reason for @err, an error of reserved memory, and advice. */
static const char *explain_previous(int err)
{
	switch (err) {
	case -ENOENT:
		return "reserved memory has no channel of a previous boot; see \"Rings"
			" that outlive a panic\" in tsctrace(4)";
	case -ENOTTY:
		return "the module is of another version; load that of this release";
	case -EPERM:
	case -EACCES:
		return "the memory has events of all users; run as root (or with"
			" CAP_SYS_ADMIN)";
	case -EPROTO:
	case -EINVAL:
		return "the memory is damaged, or was written by another version; free"
			" it with --discard";
	}
	return strerror(-err);
}

static int open_device(void)
{
	int fd = open(TSCT_DEVICE_PATH, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : 0;

	if (err)
		ctl_error("%s: %s%s", TSCT_DEVICE_PATH, strerror(-err),
			     err == -ENOENT ? "; load the module tsctrace" : "");
	return err ? err : fd;
}

int snapshot_previous_discard(void)
{
	struct tsct_previous previous = { .flags = TSCT_PREVIOUS_DISCARD };
	int fd = open_device(), err = fd < 0 ? fd : 0;

	if (err)
		return err;
	if (ioctl(fd, TSCT_IOC_PREVIOUS, &previous)) {
		err = -errno;
		ctl_error("%s", explain_previous(err));
	}
	close(fd);
	return err;
}

/* Returns true if the channel must be copied, because -c names the channel or there is
 * no -c. Sets named[i] if the i-th -c gives the name or id of the channel. */
static bool is_chosen(const struct record_options *o, const struct tsct_channel_header *h,
		      bool *named)
{
	char id[16];
	unsigned int i;
	bool chosen = !o->nr_channels;

	snprintf(id, sizeof(id), "%u", h->id);
	for (i = 0; i < o->nr_channels; i++) {
		if (strncmp(o->channels[i], h->name, sizeof(h->name)) &&
		    strcmp(o->channels[i], id))
			continue;
		named[i] = true;
		chosen = true;
	}
	return chosen;
}

static int add_channel(struct record_session *s, const struct tsct_previous_boot *boot,
		       unsigned int i)
{
	const struct tsct_channel_header *h = tsct_previous_boot_channel(boot, i);
	int err;

	if (s->nr_channels == RECORD_CHANNELS)
		return ctl_fail(-E2BIG,
				"more than %d channels are too many for one recording;"
				" select some with -c", RECORD_CHANNELS);
	err = tsct_previous_boot_open_channel(boot, i, &s->channels[s->nr_channels]);
	if (err == -EINVAL)
		return ctl_fail(0, "channel %u: skipped, as its description is damaged",
				h->id);
	if (err)
		return ctl_fail(err, "channel %u: %s", h->id, strerror(-err));
	snapshot_add_name(s, h->name, "module", h->id);
	return 0;
}

static int add_channels(struct record_session *s, const struct tsct_previous_boot *boot)
{
	bool *named = calloc(s->o->nr_channels + 1, sizeof(*named));
	unsigned int i;
	int err = named ? 0 : -ENOMEM;

	for (i = 0; !err && i < boot->nr_channels; i++)
		if (is_chosen(s->o, tsct_previous_boot_channel(boot, i), named))
			err = add_channel(s, boot, i);
	for (i = 0; !err && i < s->o->nr_channels; i++)
		if (!named[i]) {
			ctl_error("-c %s: the previous boot left no such channel",
				     s->o->channels[i]);
			err = -ENOENT;
		}
	free(named);
	if (boot->nr_damaged)
		ctl_error("%u damaged channel%s skipped", boot->nr_damaged,
			     boot->nr_damaged == 1 ? "" : "s");
	if (!err && !s->nr_channels) {
		ctl_error("no channel can be read; free the memory with --discard");
		err = -ENOENT;
	}
	return err;
}

static int open_clock(struct record_session *s, const struct tsct_previous_boot *boot)
{
	int err = tsct_previous_boot_open_clock(boot, s->channels, s->nr_channels, &s->clock);

	if (err)
		ctl_error("clock of the previous boot: %s", err == -EAGAIN ?
			     "tsctraced did not run, and the moment of the panic is"
			     " unknown: the events have no times" :
			     err == -ENODATA ? "all copies are damaged" : strerror(-err));
	return err;
}

/* Stores the previous boot's id and kernel version in s->rec, in place of those of this boot. */
static int describe_boot(struct record_session *s, const struct tsct_previous_boot *boot)
{
	struct tsct_recorded_node *node = &s->rec.nodes[0];
	char *kernel = strdup(boot->header.kernel);

	if (!kernel)
		return -ENOMEM;
	free(node->kernel);
	node->kernel = kernel;
	tsct_previous_boot_id(boot, node->boot_id);
	return 0;
}

int snapshot_previous_open(struct record_session *s)
{
	struct tsct_previous_boot boot;
	int fd = open_device(), err;

	if (fd < 0)
		return fd;
	err = tsct_previous_boot_read(fd, &boot);
	close(fd);
	if (err)
		return ctl_fail(err, "%s", explain_previous(err));
	err = add_channels(s, &boot) ?:
		open_clock(s, &boot) ?:
		record_session_prepare(s) ?:
		describe_boot(s, &boot);
	tsct_previous_boot_free(&boot);
	return err;
}
