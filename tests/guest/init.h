/* SPDX-License-Identifier: MIT */
/*
 * PID 1 of a test guest: init.c runs the plan, guest.c sets up the machine and
 * its output, kmsg.c reads the kernel log.
 */
#ifndef TSCT_TEST_INIT_H
#define TSCT_TEST_INIT_H

#include <stdbool.h>
#include <stddef.h>

/* functions defined in guest.c */
void guest_setup(void);
_Noreturn void guest_power_off(void);
void tap_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tap_write(const char *text, size_t size);

/* The output of the running test; only its end is kept if it is long. */
void output_reset(void);
void output_collect(int fd, bool live);
void output_add(const char *text, size_t size);
void output_print(void);
const char *output_last_line(void);

int module_load(const char *path);
int module_unload(void);

/* kmsg.c: the kernel log since the last mark, taint flags, leak detector */
int kmsg_fd(void);
void kmsg_mark(const char *name);
void kmsg_collect(void);
int kmsg_warnings(void);
void kmsg_print(void);
unsigned long taint_read(void);
bool kmemleak_start(void);
bool kmemleak_clean(void);

#endif
