// SPDX-License-Identifier: MIT
/*
 * Changes lines in the environment of metadata: deletes, duplicates, moves and replaces
 * lines, and changes the numbers, words and texts in them. All changes are made in the
 * buffer @work.
 */

/* ---- finding text -------------------------------------------------------- */

struct span {
	size_t at, len;
};

static bool is_digit(__u8 c)
{
	return c >= '0' && c <= '9';
}

/* True if a number begins at offset @at of the text */
static bool is_number(const struct bytes *b, size_t at)
{
	return is_digit(b->at[at]) && (!at || !is_digit(b->at[at - 1]));
}

static struct span line_at(const struct bytes *b, size_t at)
{
	struct span line = { .at = at };

	while (at < b->len && b->at[at] != '\n')
		at++;
	line.len = at + (at < b->len) - line.at;
	return line;
}

/* Returns a random line of the text. Long and short lines are equally likely. */
static struct span any_line(const struct bytes *b)
{
	unsigned int lines = 0, nr;
	size_t at;

	for (at = 0; at < b->len; at++)
		lines += b->at[at] == '\n';
	nr = lines ? any(lines) : 0;
	for (at = 0; nr && at < b->len; at++)
		nr -= b->at[at] == '\n';
	return line_at(b, at);
}

/* Length of a line's key: the bytes before " = " */
static size_t key_len(const struct bytes *b, struct span line)
{
	size_t len = 0;

	while (len < line.len && b->at[line.at + len] != ' ')
		len++;
	return len;
}

/* Finds the line of text @b with the same key as line @line of text @of. Returns a
 * random line of @b if there is none. */
static struct span same_key(const struct bytes *b, const struct bytes *of,
			    struct span line)
{
	const size_t len = key_len(of, line);
	struct span other;

	for (size_t at = 0; at < b->len; at = other.at + other.len) {
		other = line_at(b, at);
		if (key_len(b, other) == len &&
		    !memcmp(b->at + at, of->at + line.at, len))
			return other;
	}
	return any_line(b);
}

static struct span any_number(const struct bytes *b, struct span in)
{
	struct span number = { .at = in.at };
	const size_t end = in.at + in.len;
	unsigned int nr = 0;

	for (size_t at = in.at; at < end; at++)
		if (is_number(b, at) && !any(++nr))
			number.at = at;
	while (number.at + number.len < end &&
	       is_digit(b->at[number.at + number.len]))
		number.len++;
	return number;
}

/* Returns a random word of the text (an item of a list, or a field) with its
 * separator. */
static struct span any_word(const struct bytes *b, struct span in)
{
	struct span word = { .at = in.at };
	const size_t end = in.at + in.len;
	unsigned int nr = 0;
	size_t at;

	for (at = in.at + 1; at < end; at++)
		if (strchr("\" ,", b->at[at - 1]) && !any(++nr))
			word.at = at;
	for (at = word.at; at < end && !strchr("\" ,\n", b->at[at]); at++)
		;
	word.len = at + (at < end && b->at[at] != '\n') - word.at;
	return word;
}

/* ---- replacing text ------------------------------------------------------ */

static const char *const lines[] = {
	"\tcomplete = 1;\n", "\tsnapshot = 1;\n", "\tmerged = 1;\n",
	"\tnr_nodes = 2;\n", "\tnr_locations = 3;\n", "\tnr_cpus = 2;\n",
	"\tlocation_1 = \"node=1 cpu=0\";\n", "\tlocation_2 = \"node=1 cpu=3\";\n",
	"\tnode_1_hostname = \"b\";\n", "\tnode_1_kernel_release = \"6\";\n",
	"\tnode_1_command = \"\";\n", "\tnode_1_provider = \"p\";\n",
	"\tnode_1_uuid = \"00112233-4455-6677-8899-aabbccddeeff\";\n",
	"\tnode_1_boot_id = \"00112233-4455-6677-8899-aabbccddeeff\";\n",
	"\tnode_1_correction = \"kept=1 dropped=2 bumps=3 bump_max=4\";\n",
	"\tnode_1_correction_fit = \"hull\";\n",
	"\tnode_1_bounds = \"tick=1 ns=2 tick=3 ns=4\";\n",
	"\ttimestamps = \"tsc/16\";\n", "\ttimestamps = \"interpolated\";\n",
	"\ttimestamps = \"system\";\n", "\ttimestamps = \"off\";\n",
	"\ttimestamps = \"system/256\";\n", "\ttimestamps = \"system-interpolated\";\n",
	"\tfsync = \"end\";\n", "\tsync_every = 16;\n",
	"\tsync_every_ns = 18446744073709551615;\n", "\tsync_every_bytes = 256;\n",
	"\tsource = \"monotonic_raw\";\n", "\tsource = \"tsc\";\n",
	"\tsource = \"realtime_ns\";\n", "\tcounter_source = \"tsc\";\n",
	"\tprovider_gone = 1;\n", "\tspan = \"begin=0 end=18446744073709551615\";\n",
	"\tstream_1 = \"name=kernel policy=0 kernel=1 lost_no_ring=0\";\n",
	"\tevent_0_16 = \"send put n:u32\";\n", "\tevent_0_17 = \"receive put n:u32\";\n",
	"\tevent_0_18 = \"begin x s:string,t:string\";\n",
	"\tevent_0_65535 = \"counter y f:f64,g:f32,h:s16/syscall\";\n",
	"\tevent_0_48 = \"instant z b:bytes[3],c:chars[7],_c:u8,d:u64/x\";\n",
	"\tlost_0_0 = \"full=1 disorder=2\";\n",
	"\tholds_0_0 = \"packets=2 events=7 on_tick=1\";\n",
	"\tring_0_0 = \"published_begin=0 published_end=9 broken_places=1\";\n",
	"\tsync_holds = \"lost=1 packets=1 events=3\";\n",
	"\tsync_fit = \"spline\";\n",
	"\tcpu_model = \"some\";\n", "\tcpu_0 = \"online=0\";\n",
	"\tcpu_1 = \"online=1 memory_node=0 package=0 core=0\";\n",
	("\tclock_line_0 = \"base_ns=5 base_tsc=6 until_tsc=7 mult=72057594037927936"
	 " error_ps=1 epoch=1 status=2 cause=0\";\n"),
	"\tdisrupted = 1;\n", "\tnode_1_complete = 0;\n",
	"\tnode_1_disrupted = 1;\n", "\tnode_1_sync_node = \"b\";\n",
	"\tnode_1_sync_fit = \"hull\";\n", "\tclock_origin = \"daemon\";\n",
	"\tclock_state = \"status=3 epoch_first=1 epoch=2 rate_error_ppb=4\";\n",
	"\tclock_real_epoch = 1;\n",
	"\tsync_start = \"state=3 begin=1 end=2\";\n",
	"\tsync_end = \"state=2 begin=1 end=2\";\n",
	("\tmessages = \"sends=2 receives=1 unmatched_sends=1 unmatched_receives=0"
	 " given_up=0 other_pairs=0 pairs=1 matched=1 before=1 within=1 beyond=0"
	 " least_own_ns=-1 least_ns=-9223372036854775808\";\n"),
	("\tmessages_0 = \"from=0 to=1 matched=1 before=1 within=0 beyond=1"
	 " least_own_ns=5 least_ns=-6\";\n"),
	("\ttimeline = \"base_ns=0 on=1 number=1 master=7 base=0 mult=72057594037927936"
	 " remote=0 global=0 num=1 den=1 hz=1000000000\";\n"),
};

/* Limits of integer types, and invalid numbers */
static const char *const odd_numbers[] = {
	"0", "1", "-1", "255", "256", "4096", "8191", "8192", "65535", "65536",
	"2147483647", "2147483648", "4294967295", "4294967296", "999999999",
	"1000000000", "281474976710655", "281474976710656", "2251799813685247",
	"2251799813685248", "72057594037927936", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551615", "18446744073709551616", "NaN", "inf", "1e400",
	"0x10", "007", "1.5", "+1", " 1", "",
	"340282366920938463463374607431768211456",
	"99999999999999999999999999999999999999999999999999999999999999999999999",
};

static const char *const odd_texts[] = {
	"", "\\", "\\\\", "\\\"", "\"", "\\0", "\\000", "\\377\\001", "\\400",
	"%n%s", "}; env {", "\xff\xfe", "\xed\xa0\x80", "\t", "a b", ".", "-",
	("yesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyes"
	 "yesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyes"
	 "yesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyes"
	 "yesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyesyes"),
};

/* Replaces range @to of @work by range @with of @from. @from may be @work itself. */
static void put_span(struct span to, const struct bytes *from, struct span with)
{
	static __u8 kept[ROOM];

	memcpy(kept, from->at + with.at, with.len);
	splice(to.at, to.len, kept, with.len);
}

static void put_words(struct span to, const char *with)
{
	splice(to.at, to.len, with, strlen(with));
}

static __u64 number_in(const struct bytes *b, struct span number)
{
	__u64 n = 0;

	for (size_t i = 0; i < number.len; i++)
		n = n * 10 + (b->at[number.at + i] - '0');
	return n;
}

static void change_number(struct span line)
{
	const struct span number = any_number(&work, line);
	__u64 n = number_in(&work, number);
	char text[24];

	switch (any(9)) {
	case 0:
		put_words(number, odd_numbers[any(COUNT(odd_numbers))]);
		return;
	case 1:
	case 2:
		put_span(number, &work, any_number(&work, any_line(&work)));
		return;
	case 3:
	case 4:
	case 5: n = odd_number(); break;
	case 6: n += any(4) - 2ULL; break;
	case 7: n = any(2) ? n * 2 : n / 2; break;
	default: n += (any(2) ? 1ULL : -1ULL) << any(64);
	}
	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	put_words(number, text);
}

static void change_word(struct span line)
{
	struct span word = any_word(&work, line), none = { .at = word.at };

	switch (any(6)) {
	case 0: put_span(none, &work, word); break;
	case 1: put_span(word, &work, any_word(&work, any_line(&work))); break;
	case 2: put_span(none, &work, any_word(&work, line)); break;
	default: put_words(word, "");
	}
}

/* Changes the text between the first and the last quotation mark of a line. */
static void change_value(struct span line)
{
	const __u8 *begin = memchr(work.at + line.at, '"', line.len), *end;
	struct span value;

	if (!begin)
		return;
	end = memrchr(work.at + line.at, '"', line.len);
	value.at = (size_t)(begin + 1 - work.at);
	value.len = end > begin ? (size_t)(end - begin - 1) : 0;
	put_words(value, odd_texts[any(COUNT(odd_texts))]);
}

/* ---- changing lines ------------------------------------------------------ */

static void move_line(struct span line)
{
	static struct bytes kept;
	struct span to;

	kept.len = line.len;
	memcpy(kept.at, work.at + line.at, line.len);
	splice(line.at, line.len, NULL, 0);
	to = any_line(&work);
	splice(to.at + any(2) * to.len, 0, kept.at, kept.len);
}

/* Inserts a random line of lines[] before or after @line; or replaces the text's line
 * with the same metadata key by the random line. If the text has no line with that key,
 * any line of the text is replaced. */
static void put_known(struct span line)
{
	static struct bytes known;
	const char *new = lines[any(COUNT(lines))];
	struct span all = { .len = strlen(new) };

	known.len = all.len;
	memcpy(known.at, new, all.len);
	if (any(2)) {
		line = same_key(&work, &known, all);
	} else {
		line.at += any(2) * line.len;
		line.len = 0;
	}
	put_span(line, &known, all);
}

static void change_text(struct section *s)
{
	struct span line, none;

	load_work(s);
	line = any_line(&work);
	none = (struct span){ .at = any_line(&work).at };
	switch (any(16)) {
	case 0: splice(line.at, line.len, NULL, 0); break;
	case 1: put_span(none, &work, line); break;
	case 2: move_line(line); break;
	case 3: put_span(line, &work, any_line(&work)); break;
	case 4: change_value(line); break;
	case 5:
	case 6: put_known(line); break;
	case 7:
	case 8:
	case 9:
	case 10: change_word(line); break;
	default: change_number(line);
	}
	store_work(s);
}

/* Copies random lines of @from to @s. Each either replaces the line of @s with the same
 * key, or is inserted before a random line. */
static void cross_text(struct section *s, const struct section *from)
{
	static struct bytes other;
	struct span line, to;

	load_work(s);
	other.len = from->len;
	if (from->len)
		memcpy(other.at, from->at, from->len);
	for (unsigned int turns = 1 + any(6); turns; turns--) {
		line = any_line(&other);
		if (any(3)) {
			to = same_key(&work, &other, line);
		} else {
			to = (struct span){ .at = any_line(&work).at };
			/* Copies not one line, but all lines up to the end of @from. */
			if (!any(3))
				line.len = other.len - line.at;
		}
		put_span(to, &other, line);
	}
	store_work(s);
}
