// SPDX-License-Identifier: MIT
/* Every nonzero byte of every reserved field is rejected. */
#include <stddef.h>

#include "device.h"

/*
 * Sets each of @len reserved bytes to 1 in turn, from offset @at of @arg; each ioctl
 * must fail with EINVAL. The caller passes an @arg that alone does not cause EINVAL.
 */
static void spoil(int fd, unsigned long cmd, void *arg, size_t at, size_t len,
		  const char *what)
{
	char *copy = malloc(_IOC_SIZE(cmd));
	size_t i;
	int err;

	for (i = 0; i < len; i++) {
		memcpy(copy, arg, _IOC_SIZE(cmd));
		copy[at + i] = 1;
		errno = 0;
		err = ioctl(fd, cmd, copy);
		t_check(err == -1 && errno == EINVAL, "%s byte %zu: %d %m",
			what, i, err);
	}
	free(copy);
}

#define SPOIL(fd, cmd, arg, type, member) \
	spoil(fd, cmd, &(arg), offsetof(struct type, member), \
	      sizeof((arg).member), #type "." #member)

int main(void)
{
	struct tsct_channel_create create = dev_request("reserved");
	struct tsct_channel_attach attach = { .uid = TSCT_UID_SELF };
	struct tsct_channel_info next = { 0 };
	struct tsct_channel_remove gone = { 0 };
	struct tsct_channel_cpu cpu = { 0 };
	struct tsct_watermark watermark = { .bytes = 100 };
	struct tsct_check check = { 0 };
	struct tsct_clock_set set = { 0 };
	struct tsct_write write = { .id = 16 };
	struct tsct_event_def def = {
		.size = TSCT_EVENT_DEF_SIZE(1), .nr_fields = 1,
		.name = "event", .fields = { { .name = "field" } },
	};
	struct tsct_previous previous = { .flags = 0 };
	struct tsct_previous_read part = { .len = 0 };
	int fd = dev_create(&create), other = dev_open();

	create = dev_request("reserved2");
	attach.id = 1;
	SPOIL(other, TSCT_IOC_CHANNEL_CREATE, create, tsct_channel_create, reserved);
	SPOIL(other, TSCT_IOC_CHANNEL_ATTACH, attach, tsct_channel_attach, reserved0);
	SPOIL(other, TSCT_IOC_CHANNEL_ATTACH, attach, tsct_channel_attach, reserved);
	SPOIL(other, TSCT_IOC_CHANNEL_NEXT, next, tsct_channel_info, reserved);
	gone.id = cpu.id = 0xfffffff0;
	SPOIL(other, TSCT_IOC_CHANNEL_REMOVE, gone, tsct_channel_remove, reserved0);
	SPOIL(other, TSCT_IOC_CHANNEL_REMOVE, gone, tsct_channel_remove, reserved);
	SPOIL(other, TSCT_IOC_CHANNEL_CPU, cpu, tsct_channel_cpu, reserved0);
	SPOIL(other, TSCT_IOC_CHANNEL_CPU, cpu, tsct_channel_cpu, reserved);
	SPOIL(fd, TSCT_IOC_WATERMARK, watermark, tsct_watermark, reserved);
	SPOIL(other, TSCT_IOC_CHECK, check, tsct_check, reserved);
	SPOIL(other, TSCT_IOC_CHECK_RUN, check, tsct_check, reserved);
	SPOIL(other, TSCT_IOC_PREVIOUS, previous, tsct_previous, reserved0);
	SPOIL(other, TSCT_IOC_PREVIOUS, previous, tsct_previous, reserved);
	SPOIL(other, TSCT_IOC_PREVIOUS_READ, part, tsct_previous_read, reserved0);
	SPOIL(other, TSCT_IOC_PREVIOUS_READ, part, tsct_previous_read, reserved);
	SPOIL(fd, TSCT_IOC_WRITE, write, tsct_write, flags);
	SPOIL(fd, TSCT_IOC_DEFINE, def, tsct_event_def, fields[0].reserved);
	SPOIL(fd, TSCT_IOC_DEFINE, def, tsct_event_def, id);

	set.state.source = dev_info(fd).source;
	SPOIL(fd, TSCT_IOC_CLOCK_SET, set, tsct_clock_set, reserved);
	/* Without a source, the fields of the bound to UTC must be 0, too. */
	SPOIL(fd, TSCT_IOC_CLOCK_SET, set, tsct_clock_set, state.utc_error_ns);
	SPOIL(fd, TSCT_IOC_CLOCK_SET, set, tsct_clock_set, state.utc_as_of_cycles);
	SPOIL(fd, TSCT_IOC_CLOCK_SET, set, tsct_clock_set, state.utc_growth_ppb);
	SPOIL(fd, TSCT_IOC_CLOCK_SET, set, tsct_clock_set, state.real.reserved);
	SPOIL(fd, TSCT_IOC_CLOCK_SET, set, tsct_clock_set, state.cluster.reserved);

	/* Without the nonzero reserved byte, the argument is valid. */
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SET, &set), "clock set: %m");
	t_check(!ioctl(fd, TSCT_IOC_DEFINE, &def), "define: %m");
	t_check(!ioctl(fd, TSCT_IOC_WRITE, &write), "write: %m");
	t_check(!ioctl(fd, TSCT_IOC_CHECK, &check), "check: %m");
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &next), "next: %m");
	cpu.id = attach.id = next.id;
	t_check(!ioctl(fd, TSCT_IOC_WATERMARK, &watermark), "watermark: %m");
	t_check(!ioctl(other, TSCT_IOC_CHANNEL_CPU, &cpu), "cpu: %m");
	t_errno(ioctl(other, TSCT_IOC_CHANNEL_REMOVE, &gone), ENOENT);
	t_errno(ioctl(other, TSCT_IOC_PREVIOUS, &previous), ENOENT);
	t_errno(ioctl(other, TSCT_IOC_PREVIOUS_READ, &part), ENOENT);
	previous.flags = TSCT_PREVIOUS_DISCARD;
	t_errno(ioctl(other, TSCT_IOC_PREVIOUS, &previous), ENOENT);
	previous.flags = ~TSCT_PREVIOUS_DISCARD;
	t_errno(ioctl(other, TSCT_IOC_PREVIOUS, &previous), EINVAL);
	t_check(!ioctl(other, TSCT_IOC_CHANNEL_ATTACH, &attach), "attach: %m");
	close(other);
	other = dev_open();
	t_check(!ioctl(other, TSCT_IOC_CHANNEL_CREATE, &create), "create: %m");
	return t_status();
}
