// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/scale.h"
#include "log.h"
#include "persist.h"

#define TEXT_MAX	1024
#define HEADER		"tsctraced rate 1"

/* ---- who we are ---------------------------------------------------------- */

/* Who else may write it may make us believe anything. */
static bool is_foreign(int fd)
{
	struct stat st;

	return fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & 022 ||
		(st.st_uid != 0 && st.st_uid != geteuid());
}

static ssize_t read_text(const char *path, bool ours, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
		      (ours ? O_NOFOLLOW : 0));
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = ours && is_foreign(fd) ? -EACCES : read(fd, text, size - 1);
	if (len == -1)
		len = -errno;
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len;
}

/* One line of printable text, or "unknown" */
static void settle(char *text, size_t size, const char *from)
{
	size_t len = strcspn(from, "\n"), i;

	if (len >= size)
		len = size - 1;
	for (i = 0; i < len; i++)
		text[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	text[len] = '\0';
	if (!len)
		snprintf(text, size, "unknown");
}

static void read_identity(const char *path, char *text, size_t size)
{
	char line[256] = "";

	read_text(path, false, line, sizeof(line));
	settle(text, size, line);
}

/* The first CPU's model */
static void read_cpu(char *text, size_t size)
{
	char info[2048] = "";
	const char *at;

	read_text("/proc/cpuinfo", false, info, sizeof(info));
	at = strstr(info, "model name");
	at = at ? strchr(at, ':') : NULL;
	settle(text, size, at ? at + 1 + strspn(at + 1, " \t") : "");
}

void persist_open(struct persist *p, const char *dir)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->path, sizeof(p->path), "%s/" PERSIST_FILE, dir);
	snprintf(p->temp, sizeof(p->temp), "%s.new", p->path);
	read_identity("/proc/sys/kernel/random/boot_id", p->boot,
		      sizeof(p->boot));
	read_identity("/etc/machine-id", p->machine, sizeof(p->machine));
	read_cpu(p->cpu, sizeof(p->cpu));
	if (!mkdir(dir, 0755) || errno == EEXIST)
		return;
	p->err = -errno;
	log_warning("%s: %s; the counter's rate will not be remembered over "
		    "restarts; give --state-dir another directory", dir,
		    strerror(errno));
}

/* ---- the text ------------------------------------------------------------ */

/*
 * What has to be the same for the rate to be; time slept to the millisecond, as
 * it cannot be told exactly.
 */
static size_t format_conditions(const struct persist *p,
				const struct signs *signs, __u32 source,
				char *text, size_t size)
{
	return (size_t)snprintf(text, size,
		HEADER "\n"
		"boot %s\n"
		"machine %s\n"
		"cpu %s\n"
		"clocksource %s\n"
		"slept-ms %lld\n"
		"vmclock %d %llu %llu\n"
		"source %s\n",
		p->boot, p->machine, p->cpu, signs->clocksource,
		(long long)(signs->slept_min_ns / 2 + signs->slept_max_ns / 2 +
			    500000) / 1000000,
		signs->has_vmclock, (unsigned long long)signs->vm_marker,
		(unsigned long long)signs->vm_generation,
		tsct_source_name(source));
}

size_t persist_format(const struct persist *p, const struct signs *signs,
		      const struct remembered *what, char *text, size_t size)
{
	size_t used = format_conditions(p, signs, what->source, text, size);

	if (used >= size)
		return used;
	return used + (size_t)snprintf(text + used, size - used,
		"rate-mult %llu\n"
		"rate-error-ppt %llu\n"
		"end\n",
		(unsigned long long)what->rate_mult,
		(unsigned long long)what->rate_error_ppt);
}

/* The line that begins at @at, and what it is about */
static const char *first_difference(const char *text, const char *wanted,
				    char *word, size_t size)
{
	const char *line = wanted;
	size_t i, len;

	for (i = 0; wanted[i] && text[i] == wanted[i]; i++)
		if (wanted[i] == '\n')
			line = wanted + i + 1;
	if (!wanted[i])
		return NULL;
	len = strcspn(line, " \n");
	snprintf(word, size, "%.*s", (int)len, line);
	return word;
}

static const char *explain(const char *word)
{
	static const struct {
		const char *word, *why;
	} whys[] = {
		{ "boot", "it is from before the machine was booted" },
		{ "machine", "it is another machine's" },
		{ "cpu", "it is of another CPU" },
		{ "clocksource", "the kernel kept time otherwise" },
		{ "slept-ms", "the machine slept since" },
		{ "vmclock", "the virtual machine was moved since" },
		{ "source", "stamps counted something else" },
	};
	size_t i;

	for (i = 0; i < sizeof(whys) / sizeof(whys[0]); i++)
		if (!strcmp(word, whys[i].word))
			return whys[i].why;
	return NULL;
}

/* Digits, a newline, and nothing that a number could be but one */
static bool take_number(const char **at, const char *name, __u64 *ret)
{
	size_t len = strlen(name);
	char *end;

	if (strncmp(*at, name, len) || !isdigit((unsigned char)(*at)[len]))
		return false;
	errno = 0;
	*ret = strtoull(*at + len, &end, 10);
	if (errno || *end != '\n')
		return false;
	*at = end + 1;
	return true;
}

static bool is_credible(const struct remembered *what)
{
	struct tsct_clock_state state = {
		.source = what->source,
		.rate_mult = what->rate_mult,
		.rate_error_ppt = what->rate_error_ppt,
	};

	return what->rate_mult && !tsct_clock_state_check(&state);
}

int persist_parse(const struct persist *p, const char *text, __u32 source,
		  const struct signs *signs, struct remembered *ret,
		  const char **ret_why)
{
	struct remembered what = { .source = source };
	char wanted[TEXT_MAX], word[32];
	size_t len = format_conditions(p, signs, source, wanted,
				       sizeof(wanted));
	const char *at = text + len, *other;

	*ret_why = "it is no such file, or was cut off";
	if (len >= sizeof(wanted))
		return -EINVAL;
	other = first_difference(text, wanted, word, sizeof(word));
	if (other) {
		other = explain(other);
		if (!other)
			return -EINVAL;
		*ret_why = other;
		return -ESTALE;
	}
	if (!take_number(&at, "rate-mult ", &what.rate_mult) ||
	    !take_number(&at, "rate-error-ppt ", &what.rate_error_ppt) ||
	    strcmp(at, "end\n"))
		return -EINVAL;
	*ret_why = "no counter runs at its rate";
	if (!is_credible(&what))
		return -EINVAL;
	*ret = what;
	return 0;
}

/* ---- the file ------------------------------------------------------------ */

int persist_load(struct persist *p, __u32 source, const struct signs *signs,
		 struct remembered *ret)
{
	char text[TEXT_MAX + 1];
	ssize_t len = read_text(p->path, true, text, sizeof(text));
	const char *why = "it is no such file, or was cut off";
	int err;

	if (len == -ENOENT)
		return -ENOENT;
	if (len < 0)
		why = len == -EACCES ? "it may not be read, or others than "
			"root and this user may write it" :
			strerror((int)-len);
	err = len < 0 ? (int)len : strlen(text) != (size_t)len ? -EINVAL :
		persist_parse(p, text, source, signs, ret, &why);
	if (err == -ESTALE)
		log_info("%s: not gone by: %s", p->path, why);
	else if (err)
		log_warning("%s: not gone by: %s", p->path, why);
	else
		log_info("%s: going by the rate remembered, known to %.6f ppm",
			 p->path, (double)ret->rate_error_ppt / 1e6);
	return err;
}

static int write_text(const char *path, const char *text, size_t len)
{
	int fd, err = 0;
	ssize_t done;

	if (unlink(path) && errno != ENOENT)
		return -errno;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0644);
	if (fd < 0)
		return -errno;
	done = write(fd, text, len);
	if (done < 0)
		err = -errno;
	else if ((size_t)done != len)
		err = -ENOSPC;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/*
 * Nothing is flushed to the disk: who comes after a crash of the machine has
 * another boot id, and does not go by the file.
 */
static int replace(struct persist *p, const struct signs *signs,
		   const struct remembered *what)
{
	char text[TEXT_MAX];
	size_t len = persist_format(p, signs, what, text, sizeof(text));
	int err;

	if (len >= sizeof(text))
		return -EMSGSIZE;
	err = write_text(p->temp, text, len);
	if (!err && rename(p->temp, p->path))
		err = -errno;
	if (err)
		unlink(p->temp);
	return err;
}

int persist_save(struct persist *p, const struct signs *signs,
		 const struct remembered *what)
{
	int err = replace(p, signs, what);

	if (err && err != p->err)
		log_warning("%s: %s; the counter's rate is not remembered over "
			    "restarts", p->path, strerror(-err));
	else if (!err && p->err)
		log_info("%s: the counter's rate is remembered again", p->path);
	p->err = err;
	return err;
}

void persist_forget(struct persist *p)
{
	int err = unlink(p->path) ? errno : 0;
	struct stat st;

	/* A read-only file system says so before it looks for the file. */
	if (err && !lstat(p->path, &st))
		log_warning("%s: %s; it holds a rate that is not true any "
			    "longer: remove it", p->path, strerror(err));
}
