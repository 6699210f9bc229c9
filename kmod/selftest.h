/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_SELFTEST_H
#define TSCT_KMOD_SELFTEST_H

#ifdef TSCT_SELFTEST
/* Each returns 0 or a negative errno; main.c calls them during init. */
int tsct_selftest(void);	/* before anything else */
int tsct_selftest_clock(void);	/* after tsct_clockpage_init(), no device yet */
int tsct_selftest_emit(void);	/* after tsct_channels_init() */
#else
#define tsct_selftest()		0
#define tsct_selftest_clock()	0
#define tsct_selftest_emit()	0
#endif

#endif /* TSCT_KMOD_SELFTEST_H */
