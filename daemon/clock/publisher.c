// SPDX-License-Identifier: MIT
/* Publication of a state to the module and to the clock file, in that order */
#include <errno.h>
#include <string.h>

#include "lib/clock/clock_page.h"
#include "daemon/config/log.h"
#include "publisher.h"
#include "daemon/config/run_dir.h"

/*
 * Minimum time from clock_file_commit() until new clock params begin, ns, if the module
 * has not published these params. The file then rejects params that begin earlier, and
 * publisher_set()'s caller tries params with a later begin. Params that the module has
 * published cannot be withdrawn, so no margin is required of these.
 */
#define MARGIN_NS	200000

int publisher_open(struct publisher *p, int dir, const char *dir_path,
		   bool use_module)
{
	int err;

	p->module = (struct module_clock) {
		.use = use_module, .result = -ENOENT, .lock = -1,
	};
	err = clock_file_open(&p->file, dir, dir_path);
	if (err)
		log_error("%s/%s: cannot create the clock file: %s; %s", dir_path,
			  TSCT_CLOCK_FILE, strerror(-err), run_dir_fix(err));
	return err;
}

void publisher_close(struct publisher *p)
{
	clock_file_close(&p->file);
	module_clock_close(&p->module);
}

void publisher_last(struct publisher *p, struct tsct_clock_state *ret_state)
{
	struct tsct_clock_state module;
	__u32 epoch, cluster;

	clock_file_last(&p->file, ret_state);
	if (module_clock_last(&p->module, &module))
		return;
	epoch = ret_state->epoch;
	cluster = ret_state->cluster_epoch;
	if ((__s32)(module.cluster_epoch - cluster) > 0)
		cluster = module.cluster_epoch;
	if (module.epoch > epoch || module.source != ret_state->source)
		*ret_state = module;
	if (epoch > ret_state->epoch)
		ret_state->epoch = epoch;
	ret_state->cluster_epoch = cluster;
}

/*
 * The module accepts or rejects clock params in one step, and accepted params cannot be
 * withdrawn. So the params are staged in the clock file before module_clock_set(), and
 * committed there by one store after it. If the process is held up before the commit
 * until the new params should have begun, readers of the file have used the old clock
 * params, which the new params may contradict.
 */
int publisher_set(struct publisher *p, const struct tsct_clock_state *state)
{
	int module, err;

	clock_file_revive(&p->file);
	err = clock_file_stage(&p->file, state);
	if (err)
		return err;
	module = module_clock_set(&p->module, p->file.dir_path, state);
	if (module == -EPERM || module == -EACCES)
		return -EPERM;
	if (module == -ETIME || module == -ESTALE || module == -EXDEV ||
	    module == -EAGAIN)
		return module;
	err = clock_file_commit(&p->file, state, module ? MARGIN_NS : 0);
	if (err == -ETIME && !module)
		err = clock_file_commit_late(&p->file, state);
	return err && !module ? -ETIMEDOUT : err;
}
