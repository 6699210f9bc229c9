/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_SELFTEST_H
#define TSCT_KMOD_SELFTEST_H

#ifdef TSCT_SELFTEST
/* Each self-test returns 0 or a negative errno; main.c calls it during init. */
int tsct_selftest(void);	/* called first at module load */
int tsct_selftest_clock(void);	/* called after tsct_clockpage_init(), while there is no
				 * device */
int tsct_selftest_emit(void);	/* called after tsct_channels_init() */
#else
#define tsct_selftest()		0
#define tsct_selftest_clock()	0
#define tsct_selftest_emit()	0
#endif

#endif /* TSCT_KMOD_SELFTEST_H */
