/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_SELFTEST_H
#define TSCT_KMOD_SELFTEST_H

#ifdef TSCT_SELFTEST
/* Each returns 0 or a negative errno; main.c calls them during init. */
int tsct_selftest(void);	/* before anything else */
int tsct_selftest_clock(void);	/* after tsct_clockpage_init(), no device yet */
int tsct_selftest_emit(void);	/* after tsct_channels_init() */
#else
static inline int tsct_selftest(void)
{
	return 0;
}

static inline int tsct_selftest_clock(void)
{
	return 0;
}

static inline int tsct_selftest_emit(void)
{
	return 0;
}
#endif

#endif /* TSCT_KMOD_SELFTEST_H */
