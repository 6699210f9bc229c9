/* SPDX-License-Identifier: MIT */
/* tsctraced.conf: valid files, and the messages for invalid ones */
#include "daemon/config/config.c"
#include "daemon/config/log.c"
#include "seed.h"
#include "suite.h"

static char dir[64], path[96], keyfile[96];
static char errors[1 << 16];
static struct config *config;

static char warned[4096];

static void collect(bool is_error, const char *text)
{
	char *to = is_error ? errors : warned;
	size_t size = is_error ? sizeof(errors) : sizeof(warned);
	size_t len = strlen(to);

	snprintf(to + len, size - len, "%s\n", text);
}

static void put(const char *name, const void *text, size_t len)
{
	FILE *to = fopen(name, "we");

	ck_assert_ptr_nonnull(to);
	ck_assert_uint_eq(fwrite(text, 1, len, to), len);
	ck_assert_int_eq(fclose(to), 0);
}

static int load(const char *text)
{
	errors[0] = warned[0] = '\0';
	config_free(config);
	config = NULL;
	put(path, text, strlen(text));
	return config_load(path, collect, &config);
}

static void setup(void)
{
	strcpy(dir, "/tmp/check_config.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/conf", dir);
	snprintf(keyfile, sizeof(keyfile), "%s/keys", dir);
}

static void teardown(void)
{
	config_free(config);
	config = NULL;
	unlink(path);
	unlink(keyfile);
	rmdir(dir);
}

CASE("conf", setup, teardown);

TEST(test_missing_file)
{
	ck_assert_int_eq(config_load("/nowhere/conf", collect, &config), -ENOENT);
	ck_assert_str_eq(errors, "");
	ck_assert_int_eq(config_load(dir, collect, &config), -EISDIR);
	ck_assert_ptr_nonnull(strstr(errors, "name a file"));
}

TEST(test_empty)
{
	ck_assert_int_eq(load(""), 0);
	ck_assert(!config_has_network(config));
	ck_assert_int_eq(load("# nothing\n\n   \t# but comments"), 0);
	ck_assert(!config_has_network(config));
	ck_assert_uint_eq(config->port, 123);
}

TEST(test_child)
{
	static const __u8 v4[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
				     192, 0, 2, 1 };

	put(keyfile, "11 AES128 HEX:000102030405060708090a0b0c0d0e0f\n", 47);
	ck_assert_int_eq(load(""), 0);
	snprintf(errors, sizeof(errors), "keyfile %s\nname alpha\n"
		 "master 192.0.2.1 key 11 port 1123 minpoll -2 maxpoll 2 "
		 "asymmetry -800 # comment\nntp 2001:db8::1 xleave\n"
		 "synced-host\nfit hull\n", keyfile);
	put(path, errors, strlen(errors));
	errors[0] = '\0';
	config_free(config);
	ck_assert_int_eq(config_load(path, collect, &config), 0);
	ck_assert_str_eq(errors, "");
	ck_assert(config_has_network(config) && !config_is_master(config));
	ck_assert(!config->serve && config->synced_host);
	ck_assert_str_eq(config->name, "alpha");
	ck_assert_uint_eq(config->nr_sources, 2);
	ck_assert_mem_eq(config->source[0].address.ip, v4, 16);
	ck_assert_uint_eq(config->source[0].address.port, 1123);
	ck_assert_uint_eq(config->source[0].key, 11);
	ck_assert_int_eq(config->source[0].minpoll, -2);
	ck_assert_int_eq(config->source[0].maxpoll, 2);
	ck_assert_int_eq(config->source[0].asymmetry_ns, -800);
	ck_assert(!config->source[0].ntp_only && config->source[1].ntp_only);
	ck_assert(config->source[1].xleave);
	ck_assert_uint_eq(config->source[1].address.port, 123);
	ck_assert_int_eq(config->source[1].minpoll, 6);
	ck_assert_int_eq(config->fit, TSCT_FIT_HULL);
	ck_assert(tsct_keys_have(config->keys, 11));
}

TEST(test_master)
{
	ck_assert_int_eq(load("serve\nallow 10.0.0.0/8\nallow fd00::/8\n"
			      "deny 10.1.0.0/16\nport 1123\nlisten 10.0.0.1\n"
			      "listen ::1\nchild a 10.0.0.2\nchild b fd00::2\n"
			      "ratelimit interval -10 burst 100 leak 2\n"
			      "sync-max-messages 7\nsync-max-duration 0.25\n"
			      "stratum 3"), 0);
	ck_assert(config->serve && config_is_master(config));
	ck_assert_uint_eq(config->nr_rules, 3);
	ck_assert(config->rule[0].allow && !config->rule[2].allow);
	ck_assert_uint_eq(config->nr_listen, 2);
	ck_assert_uint_eq(config->port, 1123);
	ck_assert_uint_eq(config->nr_children, 2);
	ck_assert(config->child[1].has_address);
	ck_assert_uint_eq(config->ratelimit.interval_us, 976);
	ck_assert_uint_eq(config->ratelimit.burst, 100);
	ck_assert_uint_eq(config->ratelimit.leak, 2);
	ck_assert_uint_eq(config->schedule.max_messages, 7);
	ck_assert_uint_eq(config->schedule.max_duration_us, 250000);
	ck_assert_int_eq(config->stratum, 3);
	ck_assert_int_eq(load("child a 10.0.0.2\nratelimit off"), 0);
	ck_assert(config->serve);
	ck_assert_uint_eq(config->ratelimit.interval_us, 0);
}

TEST(test_poll_defaults)
{
	ck_assert_int_eq(load("master 10.0.0.1 minpoll 6\nntp 10.0.0.2 maxpoll 0"),
			 0);
	ck_assert_int_eq(config->source[0].maxpoll, 6);
	ck_assert_int_eq(config->source[1].minpoll, 0);
}

/* Invalid configuration lines. Each is line 2 of its file. The error message must
 * contain the line number, the wrong word and the remedy. */
static const struct wrong {
	const char *line, *word, *fix;
} wrong[] = {
	{ "mster 10.0.0.1", "'mster'", "tsctraced.conf(5)" },
	{ "MASTER 10.0.0.1", "'MASTER'", "tsctraced.conf(5)" },
	{ "master", "master", "give an IPv4 or IPv6 address" },
	{ "master example.org", "'example.org'", "getent" },
	{ "master 10.0.0.256", "'10.0.0.256'", "give an IPv4 or IPv6" },
	{ "master 10.0.0.1 port 0", "'0'", "1 to 65535" },
	{ "master 10.0.0.1 port", "port", "1 to 65535" },
	{ "master 10.0.0.1 port 1x", "'1x'", "1 to 65535" },
	{ "master 10.0.0.1 minpoll -7", "'-7'", "-6 to 17" },
	{ "master 10.0.0.1 minpoll 5 maxpoll 4", "minpoll 5", "higher" },
	{ "master 10.0.0.1 xleave", "'xleave'", "use key" },
	{ "master 10.0.0.1 key 0", "'0'", "1 to 4294967295" },
	{ "master 10.0.0.1 key 99999999999999999999", "'9999", "1 to" },
	{ "master 10.0.0.1 key 7", "key 7", "add 'keyfile FILE'" },
	{ "ntp 10.0.0.1 iburst", "'iburst'", "xleave" },
	{ "child", "child", "give a name" },
	{ "child a", "child a", "give its address" },
	{ "child a nowhere", "'nowhere'", "key NUMBER" },
	{ "allow", "allow", "a prefix such as 10.0.0.0/8" },
	{ "fit", "fit", "give one of auto, linear" },
	{ "history", "history", "1 to 3650" },
	{ "history 0", "'0'", "1 to 3650" },
	{ "history on", "'on'", "1 to 3650" },
	{ "history off 3", "'off'", "1 to 3650" },
	{ "history 3 4", "'4'", "remove it" },
	{ "keyfile", "keyfile", "give the name of a file" },
	{ "allow 10.0.0.0/33", "'10.0.0.0/33'", "10.0.0.0/8" },
	{ "deny fd00::/x", "'fd00::/x'", "fd00::/8" },
	{ "listen here", "'here'", "IPv4" },
	{ "port 65536", "'65536'", "1 to 65535" },
	{ "ratelimit interval 13", "'13'", "-19 to 12" },
	{ "ratelimit on", "'on'", "off" },
	{ "serve 1", "'1'", "remove it" },
	{ "fit best", "'best'", "regression" },
	{ "stratum 16", "'16'", "1 to 15" },
	{ "sync-max-duration 1e3", "'1e3'", "0.001 to 600" },
	{ "sync-max-duration nan", "'nan'", "0.001 to 600" },
	{ "sync-max-duration 1.2.3", "'1.2.3'", "0.001 to 600" },
	{ "sync-max-messages 0", "'0'", "1 to 100000" },
	{ "keyfile /nowhere/keys", "/nowhere/keys", "name a file" },
	{ "name \x1b[31m", "0x1b", "remove it" },
};

LOOP_TEST(test_invalid_lines, 0, ROWS(wrong))
{
	const struct wrong *w = &wrong[_i];
	char text[256], at[128];

	snprintf(text, sizeof(text), "# first\n%s\nname x\n", w->line);
	snprintf(at, sizeof(at), "%s:2: ", path);
	ck_assert_int_eq(load(text), -EINVAL);
	ck_assert_msg(!strncmp(errors, at, strlen(at)) && strstr(errors, w->word) &&
		      strstr(errors, w->fix), "%s: %s", w->line, errors);
	ck_assert_ptr_eq(strchr(errors, '\n'), errors + strlen(errors) - 1);
}

TEST(test_duplicates)
{
	ck_assert_int_eq(load("port 1\nport 2"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(errors, "already in line 1"));
	ck_assert_int_eq(load("ntp 10.0.0.1\nntp 10.0.0.1"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(errors, "already in line 1"));
	ck_assert_int_eq(load("ntp 10.0.0.1\nntp 10.0.0.1 port 124"), 0);
	ck_assert_int_eq(load("child a 10.0.0.1\nchild a 10.0.0.2"), -EINVAL);
	ck_assert_int_eq(load("child a 10.0.0.1\nchild b 10.0.0.1"), -EINVAL);
	ck_assert_int_eq(load("serve"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(errors, "every client is denied"));
	ck_assert_int_eq(load("synced-cluster\nntp 10.0.0.1"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(errors, "conflicts with"));
	ck_assert_int_eq(load("synced-cluster error 0"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(errors, "from 1 to 1000000000"));
	ck_assert_int_eq(load("synced-cluster 500"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(errors, "give 'error NS' or no argument"));
	ck_assert_int_eq(load("synced-cluster error 500"), 0);
	ck_assert_uint_eq(config->synced_error_ns, 500);
	ck_assert_int_eq(load("synced-cluster"), 0);
	ck_assert_uint_eq(config->synced_error_ns, 0);
}

/* All errors of a file are reported, not only the first. */
TEST(test_reports_all_errors)
{
	ck_assert_int_eq(load("a\nb\nport x\n"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(errors, ":1: "));
	ck_assert_ptr_nonnull(strstr(errors, ":2: "));
	ck_assert_ptr_nonnull(strstr(errors, ":3: "));
}

static void many(const char *verb, int nr, int want, const char *what)
{
	static char text[1 << 20];
	size_t len = 0;

	for (int i = 0; i < nr; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s 10.0.%d.%d\n", verb, i / 250,
					i % 250 + 1);
	ck_assert_int_eq(load(text), want);
	if (want)
		ck_assert_ptr_nonnull(strstr(errors, what));
}

TEST(test_limits)
{
	char line[LINE_MAX_SIZE + 100];

	many("ntp", TSCT_SOURCES_MAX, 0, NULL);
	many("ntp", TSCT_SOURCES_MAX + 1, -EINVAL, "more than 16");
	many("allow", TSCT_RULES_MAX, 0, NULL);
	many("allow", TSCT_RULES_MAX + 1, -EINVAL, "more than");
	memset(line, 'x', sizeof(line));
	memcpy(line, "name ", 5);
	line[sizeof(line) - 1] = '\0';
	ck_assert_int_eq(load(line), -EINVAL);
	ck_assert_ptr_nonnull(strstr(errors, "longer than"));
	line[4 + CONFIG_NAME_MAX] = '\0';
	ck_assert_int_eq(load(line), 0);
	line[4 + CONFIG_NAME_MAX] = 'x';
	line[5 + CONFIG_NAME_MAX] = '\0';
	ck_assert_int_eq(load(line), -EINVAL);
	memset(line, ' ', sizeof(line));
	ck_assert_int_eq(load("allow a a a a a a a a a a a a a a a a a a a a a "
			      "a a a a a a a a a a a a a a a a a a a"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(errors, "split the line"));
}

/* Random bytes as configuration: the message never exceeds its buffer. */
TEST(test_random_bytes)
{
	static const char *words[] = {
		"master", "ntp", "child", "allow", "10.0.0.1", "key", "port",
		"1", "-3", "\n", "\n", "#", "ratelimit", "burst", "::1", "/",
		"name", "serve", "fit", "auto", "\xff", "minpoll", "xleave",
	};
	char text[600];

	for (int round = 0; round < 3000; round++) {
		text[0] = '\0';
		for (int i = (int)any(40); i >= 0; i--) {
			strcat(text, words[any(ROWS(words))]);
			strcat(text, any(8) ? " " : "");
		}
		if (!load(text))
			ck_assert_str_eq(errors, "");
		else
			ck_assert_str_ne(errors, "");
	}
	put(path, "name a\0b\nport 1\n", 16);
	errors[0] = '\0';
	config_free(config);
	config = NULL;
	ck_assert_int_eq(config_load(path, collect, &config), -EINVAL);
}

/* Expects that a configuration file is accepted, with a warning. */
static void warned_of(mode_t mode, const char *keys, const char *part)
{
	char text[128];

	put(keyfile, keys, strlen(keys));
	ck_assert_int_eq(chmod(keyfile, mode), 0);
	snprintf(text, sizeof(text), "keyfile %s\n", keyfile);
	ck_assert_int_eq(load(text), 0);
	ck_assert_str_eq(errors, "");
	if (part)
		ck_assert_ptr_nonnull(strstr(warned, part));
	else
		ck_assert_str_eq(warned, "");
}

TEST(test_warnings)
{
	static const char good[] =
		"11 AES128 HEX:000102030405060708090a0b0c0d0e0f\n";

	warned_of(0600, good, NULL);
	warned_of(0640, good, NULL);
	warned_of(0644, good, ":1: keyfile: /tmp/");
	warned_of(0660, good, "other users can read or change it");
	warned_of(0600, "7 secret\n", "key 7 has no type");
	warned_of(0600, "7 SHA1 ASCII:abc\n", "which can be guessed");
}
