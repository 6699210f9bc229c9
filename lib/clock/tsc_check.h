/* SPDX-License-Identifier: MIT */
/*
 * TSC check from user space, without the module: compares the counters of all
 * CPUs. It uses the structs of TSCT_IOC_CHECK.
 */
#ifndef TSCT_TSC_CHECK_H
#define TSCT_TSC_CHECK_H

#include <tsctrace/abi.h>

/*
 * tsct_tsc_check_run - run the check
 * @check: like the argument of TSCT_IOC_CHECK; in: table, and its number of entries
 *	nr; out: nr is the number of CPUs, tsc_khz is 0, all other fields are set
 *
 * Runs threads on every CPU that the caller's affinity allows, and compares
 * each counter with that of the first CPU. Blocks for about 200 ms, 2 s at most.
 * Sets TSCT_CHECK_USABLE if tsct_tsc_trusted() returns true.
 * Returns 0, -ENOMEM, or -EAGAIN: no thread could be started.
 */
int tsct_tsc_check_run(struct tsct_check *check);

/*
 * tsct_tsc_check_read_aux - replace the module's readings of TSC_AUX by those of user
 * mode, which a virtual machine on the same CPU does not affect
 * @check: result of TSCT_IOC_CHECK with its table
 *
 * Runs a thread on every online CPU in turn, but on no isolated one. Entries of CPUs
 * that this process may not use keep the module's reading. Sets TSCT_CHECK_AUX_MATCH and
 * the entries' flags AUX_MATCH and HYPERVISOR by the new readings. Returns 0, or -EAGAIN:
 * no thread could be started; *check is unchanged.
 */
int tsct_tsc_check_read_aux(struct tsct_check *check);

#endif /* TSCT_TSC_CHECK_H */
