/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_SELFTEST_H
#define TSCT_KMOD_SELFTEST_H

#ifdef TSCT_SELFTEST
int tsct_selftest(void);	/* before all else */
int tsct_selftest_clock(void);	/* when there is one, and no program yet */
int tsct_selftest_emit(void);	/* when there can be channels */
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
