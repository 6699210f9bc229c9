// SPDX-License-Identifier: MIT
/*
 * A hostile client: replays the corpus of fuzzer programs (fuzz/fuzz.h), then makes new
 * ones for TSCT_FUZZ_SECONDS from SEED, guided by the kernel's coverage if this kernel
 * records it. In between the module is loaded again, the machine is suspended and
 * restored, with failures injected. With TSCT_FUZZ_KEEP new programs of the corpus and
 * the coverage are sent to the host (boot.sh --out).
 * guest-test: boot=reserved timeout=150 module=no files=tests/fuzz/corpus/kernel rt=yes
 */
#include <dirent.h>

#include "fuzz/fuzz.h"
#include "modules.h"

#define CORPUS		"/tests/fuzz/corpus/kernel"
#define FOUND		"/tmp/fuzz"
#define CORPUS_MAX	4096
#define MODULE		"/lib/modules/tsctrace-cover.ko"	/* needs tsct-cover.ko */
#define MODULE_PLAIN	"/lib/modules/tsctrace.ko"
#define KERNEL_CALLS	"/lib/modules/tsct-fuzz.ko"
/* Without BTF: the kernel warns if it fails to read a module's BTF. */
#define MODULE_FAULTY	"/lib/modules/tsctrace-nobtf.ko"
#define PAUSE		300	/* number of programs between two reloads */

static struct fz_program corpus[CORPUS_MAX];
static unsigned int nr_corpus, runs, kept, untrusted;
static struct fz_random randoms;
static struct tsct_faults faults;
static uint64_t injected;	/* failures injected into other calls than a program's */

static long setting(const char *name, long value)
{
	const char *text = getenv(name);

	return text ? atol(text) : value;
}

/* ---- calls outside programs, recorded and with injected failures ---------- */

static bool has_bpf;		/* BPF programs can emit */
static int module_fd, faulty_fd, vmfork_fd, state_fd;	/* opened before failures are armed */

static int load(void)
{
	return (int)syscall(SYS_finit_module, module_fd, "", 0);
}

static int unload(void)
{
	return mod_unload("tsctrace");
}

static int load_faulty(void)
{
	return (int)syscall(SYS_finit_module, faulty_fd, "", 0);
}

static int suspend(void)
{
	return (int)write(state_fd, "freeze", 6);
}

static int restore(void)
{
	return (int)syscall(SYS_finit_module, vmfork_fd, "", 0);
}

static int hotplug(void)
{
	faults_write("/sys/devices/system/cpu/cpu1/online", "0");
	return faults_write("/sys/devices/system/cpu/cpu1/online", "1") ? 0 : -1;
}

/* Makes a call whose nth step fails; 0: none. Returns true if it was reached. */
static bool call_with(int (*call)(void), unsigned int nth, int *ret)
{
	int error;
	bool hit;

	fz_cover_begin(0);
	faults_arm(&faults, nth);
	*ret = call();
	error = errno;
	hit = nth && faults_injected(&faults);
	fz_cover_end(0);
	injected += hit;
	errno = error;
	return hit;
}

static void prepare(void)
{
	fz_cover_sections();
	chmod(TSCT_DEVICE_PATH, 0666);
	t_check(fz_netlink_resolve(), "no netlink family");
	mod_load(KERNEL_CALLS, "");
	has_bpf = fz_bpf_load();
}

/* Loads the module; with @nth, first with that step failing. */
static bool load_again(unsigned int nth)
{
	bool hit = false;
	int ret = -1;

	if (nth) {
		hit = call_with(load_faulty, nth, &ret);
		t_check(hit || !ret, "load: %m");
		if (!ret)
			t_check(!mod_unload("tsctrace"), "unload: %m");
	}
	call_with(load, 0, &ret);
	t_check(!ret, "load: %m");
	prepare();
	return hit;
}

static void unload_again(void)
{
	int ret, tries;

	fz_bpf_unload();
	t_check(!mod_unload("tsct_fuzz"), "tsct-fuzz.ko: %m");
	for (tries = 0; tries < 200; tries++) {
		call_with(unload, 0, &ret);
		if (!ret || errno != EAGAIN)
			break;
		usleep(10000);
	}
	t_check(!ret, "unload: %m");
	fz_cover_collect_all();
}

/* Makes the reserved memory that of a previous boot, if there is some: of a channel that was
 * left, sometimes with damaged figures. */
static void make_previous_boot(void)
{
	uint64_t draw = fz_random(&randoms);
	char text[128];

	snprintf(text, sizeof(text), "age=1 flips=%u first=0 last=%u seed=%u",
		 draw % 4 ? 0 : (unsigned int)(1 + draw / 4 % 3), draw & 64 ? 64 : 4096,
		 (unsigned int)(draw >> 8 & 0xffff));
	if (draw & 128)
		mod_try_load("/lib/modules/tsct-flip.ko", text);
}

/* A channel is made while CPU 1 is not present, and gets the ring of that CPU later. */
static void add_cpu(void)
{
	struct tsct_channel_create arg = dev_request("added");
	int fd;

	faults_write(FZ_CPU1, "0");
	mod_try_load("/lib/modules/tsct-present.ko", "present=0");
	fd = dev_open();
	arg.policy = fz_random(&randoms) % 2;
	ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg);
	mod_try_load("/lib/modules/tsct-present.ko", "present=1");
	faults_write(FZ_CPU1, "1");
	close(fd);
}

/* Makes a channel that is kept when all descriptors are closed. */
static void keep_channel(void)
{
	struct tsct_channel_create arg = dev_request("kept");
	int fd = dev_open();

	arg.flags = TSCT_CHANNEL_KEEP;
	arg.policy = fz_random(&randoms) % 2;
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	close(fd);
}

static void disrupt(void)
{
	int ret;

	keep_channel();
	unload_again();
	make_previous_boot();
	load_again(1 + (unsigned int)(fz_random(&randoms) % 400));
	add_cpu();
	call_with(suspend, 0, &ret);
	call_with(restore, 1 + (unsigned int)(fz_random(&randoms) % 8), &ret);
	call_with(hotplug, 1 + (unsigned int)(fz_random(&randoms) % 60), &ret);
	call_with(hotplug, 0, &ret);
}

/* ---- programs --------------------------------------------------------- */

static void save(const struct fz_program *program, const char *prefix)
{
	size_t size = FZ_HEAD + program->nr * sizeof(program->ops[0]), i;
	uint64_t hash = 0xcbf29ce484222325;
	char path[128];
	FILE *file;

	for (i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *)program)[i]) * 0x100000001b3;
	snprintf(path, sizeof(path), FOUND "/%s%012lx.bin", prefix, hash >> 16);
	file = fopen(path, "w");
	if (!file)
		return;
	fwrite(program, size, 1, file);
	fclose(file);
}

/* Messages that a program may cause: of this module, memory cgroups, failures that were
 * injected, late timers of an emulated CPU, CPU hotplug, clocksources, the test itself */
static bool is_expected(const char *text)
{
	static const char *const words[] = {
		"tsctrace: ", "oom", "emory", "ftrace", "interrupt took", "affine", "test: ",
		"vmalloc error", "scan area", "clocksource",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* Prints what the kernel has logged as a warning or worse since the last call: init
 * decides which warnings fail the test, but does not know the program. */
static bool kernel_warned(void)
{
	static int fd = -1;
	char record[8192], *text;
	bool warned = false;
	ssize_t len;

	if (fd < 0) {
		fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		lseek(fd, 0, SEEK_END);
	}
	while ((len = read(fd, record, sizeof(record) - 1)) > 0) {
		record[len] = '\0';
		text = strchr(record, ';') ?: record;
		if ((atoi(record) & 7) > 4 || is_expected(text))
			continue;
		if (!warned)
			printf("kernel: %.*s", 200, text);
		warned = true;
	}
	return warned;
}

static bool run(const struct fz_program *program, bool sweep)
{
	const char *why = fz_run(program, sweep);
	bool warned = kernel_warned();

	runs++;
	if (why || warned) {
		save(program, why ? "crash-" : "warned-");
		fz_print(program);
	}
	return t_check(!why, "program %u%s: %s", runs, sweep ? ", with failures" : "", why);
}

static void keep(const struct fz_program *program)
{
	if (nr_corpus == CORPUS_MAX)
		return;
	corpus[nr_corpus++] = *program;
	kept++;
}

static void replay(void)
{
	struct dirent **names;
	int nr = scandir(CORPUS, &names, NULL, alphasort), i;
	char path[512], bytes[FZ_HEAD + sizeof(corpus->ops)];
	FILE *file;

	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), CORPUS "/%s", names[i]->d_name);
		file = names[i]->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!file)
			continue;
		if (t_check(fz_parse(bytes, fread(bytes, 1, sizeof(bytes), file),
				     &corpus[nr_corpus]), "%s", path))
			run(&corpus[nr_corpus++], false);
		fclose(file);
	}
	printf("%u programs of the corpus replayed\n", nr_corpus);
	fz_cover_new();
}

static void fuzz_once(bool sweep)
{
	struct fz_program program;
	uint64_t draw = fz_random(&randoms);

	if (!nr_corpus || draw % 4 == 0) {
		fz_generate(&randoms, &program);
	} else {
		/* Half of the choices are programs that were found last. */
		unsigned int range = draw & 8 && nr_corpus > 20 ? 20 : nr_corpus;

		program = corpus[nr_corpus - 1 - fz_random(&randoms) % range];
		fz_mutate(&randoms, &program,
			  &corpus[fz_random(&randoms) % nr_corpus]);
	}
	run(&program, sweep);
	if (fz_cover_new())
		keep(&program);
}

/* Number of programs while the TSC is not trusted */
static unsigned int untrusted_programs(void)
{
	return t_repeats("TSCT_FUZZ_UNTRUSTED", 20, 40);
}

/* Loads the module while the kernel uses another clocksource: the TSC is not trusted. */
static void fuzz_untrusted(void)
{
	untrusted++;
	unload_again();
	faults_write(FZ_CLOCKSOURCE, "hpet");
	load_again(0);
	for (unsigned int i = 0; i < untrusted_programs(); i++)
		fuzz_once(false);
	unload_again();
	faults_write(FZ_CLOCKSOURCE, "tsc");
	load_again(0);
}

/* The kernel marks the TSC unstable while the module trusts it, which nothing reverts. */
static void fuzz_unstable(void)
{
	t_check(!mod_unload("tsct_fuzz"), "tsct-fuzz.ko: %m");
	mod_load(KERNEL_CALLS, "unstable=1");
	for (unsigned int i = 0; i < untrusted_programs(); i++)
		fuzz_once(false);
}

/* Lets steps of the load fail, one of four, each step of a CPU's way down and up, and
 * each of the corpus' calls. */
static void fail_all(void)
{
	unsigned int nth, i, loads = 0;
	int ret;

	unload_again();
	for (nth = 1; load_again(nth) && nth < 5000; loads++) {
		unload_again();
		nth += 1 + (unsigned int)(fz_random(&randoms) % 7);
	}
	printf("load: %u of %u steps failed\n", loads, nth);
	for (nth = 1; call_with(hotplug, nth, &ret) && nth < 5000; nth++)
		call_with(hotplug, 0, &ret);
	printf("hotplug: %u failures injected\n", nth - 1);
	for (i = 0; i < nr_corpus; i++)
		run(&corpus[i], true);
	printf("%u programs: %lu failures injected\n", nr_corpus, fz_shared->injected);
}

static void fuzz(double seconds)
{
	double end = t_now() + seconds, report = t_now() + 60;

	while (t_now() < end && t_failures < 10) {
		fuzz_once(runs % 5 == 0);
		if (runs % PAUSE == 0)
			disrupt();
		if (runs % (4 * PAUSE) == PAUSE)
			fuzz_untrusted();
		if (t_now() > report) {
			printf("%u runs, %u programs, %u sites, %lu failures injected\n", runs,
			       nr_corpus, fz_cover_sites(), fz_shared->injected + injected);
			fflush(stdout);
			report += 60;
		}
	}
}

/* Saves the programs of the corpus that suffice to reach the same code. New programs come
 * first, as they do more than those that they were made of. */
static void distill(void)
{
	unsigned int i, sites = 0, saved = 0;

	fz_cover_reset();
	for (i = nr_corpus; i-- && t_failures < 10;) {
		run(&corpus[i], false);
		if (fz_cover_sites() == sites)
			continue;
		sites = fz_cover_sites();
		save(&corpus[i], "");
		saved++;
	}
	printf("%u of %u programs suffice for %u sites\n", saved, nr_corpus, sites);
}

/* Appends the coverage to the file for the host. Lines may repeat. */
static bool save_coverage(void)
{
	FILE *file = fopen(FOUND "/coverage", "a");

	if (!file)
		return false;
	fz_cover_write(file);
	return !fclose(file);
}

/* Sends the coverage, and the new corpus, to the host. */
static void send_found(void)
{
	if (!save_coverage())
		return;
	t_check(!system("tar -c -C " FOUND " . | out"));
}

int main(void)
{
	bool faulty = faults_setup(), covered = fz_cover_setup(), all;
	long slow = setting("TSCT_SLOW", 1);

	if (getenv("TSCT_FUZZ_KEEP"))
		mkdir(FOUND, 0755);
	randoms.state = (uint64_t)setting("SEED", time(NULL));
	printf("SEED=%lu\n", randoms.state);
	faults_open(&faults);
	all = covered && !mod_try_load("/lib/modules/tsct-cover.ko", "") && fz_cover_all();
	module_fd = open(all ? MODULE : MODULE_PLAIN, O_RDONLY | O_CLOEXEC);
	faulty_fd = open(MODULE_FAULTY, O_RDONLY | O_CLOEXEC);
	vmfork_fd = open("/lib/modules/tsct-vmfork.ko", O_RDONLY | O_CLOEXEC);
	state_fd = open("/sys/power/state", O_WRONLY | O_CLOEXEC);
	faults_write("/sys/power/pm_test", "platform");
	faults_write("/sys/module/suspend/parameters/pm_test_delay", "0");
	fz_seconds_max = (unsigned int)(10 * slow);
	load_again(0);
	printf("%s coverage%s, %s fault injection, %s BPF\n", covered ? "with" : "without",
	       all ? " of all contexts" : "", faulty ? "with" : "without",
	       has_bpf ? "with" : "without");
	fz_exec_setup();
	kernel_warned();
	replay();
	disrupt();
	if (setting("TSCT_FUZZ_FAILURES", 0))
		fail_all();
	fuzz((double)t_repeats("TSCT_FUZZ_SECONDS", 2 * (unsigned int)slow,
				 5 * (unsigned int)slow));
	if (!untrusted)
		fuzz_untrusted();
	printf("%u runs, %lu calls, %u new programs, %u sites, %lu failures injected\n", runs,
	       fz_shared->calls, kept, covered ? fz_cover_sites() : 0,
	       fz_shared->injected + injected);
	if (save_coverage())
		distill();
	fuzz_unstable();
	unload_again();
	send_found();
	return t_status();
}
