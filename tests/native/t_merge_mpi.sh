#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl-merge-mpi on 1, 2 and 4 ranks, under each MPI that is installed: its result is
# that of trace-ctl merge, bit by bit; damaged and refused inputs; a rank that is killed, a
# launcher that is ended; memory by number of recordings.
# test-wing: mpi
. "$(dirname "$0")/record.sh"

program=$out/tools/trace-ctl-merge-mpi

# Runs the program on some ranks.
on_ranks() {	# WANTED-STATUS RANKS ARGUMENT...
	exits "$1" timeout 300 mpirun.$mpi -n "$2" "$program" "${@:3}" >"$work/out" 2>"$work/err"
}

# Merges on 1, 2 and 4 ranks, and compares with the merge without MPI.
same() {	# WANTED-STATUS ARGUMENT...
	local n
	rm -rf "$work/alone"
	run "$1" merge --json -o "$work/alone" "${@:2}"
	grep -v '"output"' "$work/out" >"$work/alone.json"
	for n in 1 2 4; do
		rm -rf "$work/o"
		on_ranks "$1" $n --json -o "$work/o" "${@:2}"
		diff -r "$work/alone" "$work/o" >"$work/diff" ||
			fail "$mpi, $n ranks: $(head -5 "$work/diff")"
		grep -v '"output"' "$work/out" | diff "$work/alone.json" - >"$work/diff" ||
			fail "$mpi, $n ranks, JSON: $(head -5 "$work/diff")"
	done
	rm -rf "$work/o"
}

# Prints the ranks of the merge of $work/big.
big_ranks() {
	local pid
	for pid in $(pgrep -f -- "-o $work/o $work/big/a"); do
		[ "$(readlink "/proc/$pid/exe")" != "$program-$mpi" ] || echo "$pid"
	done
}

no_ranks() { [ -z "$(big_ranks)" ]; }

# Starts a long merge, and stops its ranks while they write; on a busy machine it may have
# ended before, and is run again. Sets: ranks, launcher
are_stopped() {
	local i
	for i in "${ranks[@]}"; do
		wait_for "rank $i is stopped, or ends" not grep -qs '^State:.[RSD]' \
			"/proc/$i/status"
		grep -qs '^State:.T' "/proc/$i/status" || return
	done
	[ ${#ranks[@]} = 2 ]
}
start_stopped() {
	local i
	for ((i = 0; i < 20; i++)); do
		rm -rf "$work/o" "$work"/.o.*
		env --default-signal=INT mpirun.$mpi -n 2 "$program" -q -j 1 -o "$work/o" \
			"$work/big/a" "$work/big/b" >"$work/out" 2>"$work/err" </dev/null & track launcher
		while kill -0 $launcher 2>/dev/null && [ ! -e "$work/o" ]; do
			mapfile -t ranks < <(big_ranks)
			[ ${#ranks[@]} -lt 2 ] || break
		done
		# From here on, nothing that takes longer than a merge
		while kill -0 $launcher 2>/dev/null && [ ! -e "$work/o" ] &&
			! compgen -G "$work/.o.*/default_*" >/dev/null; do
			:
		done
		# A rank that is stopped is neither at its end nor beyond it.
		if kill -STOP "${ranks[@]}" 2>/dev/null && are_stopped &&
			compgen -G "$work/.o.*/default_*" >/dev/null &&
			! compgen -G "$work/.o.*/metadata" >/dev/null; then
			return 0
		fi
		kill -CONT "${ranks[@]}" 2>/dev/null || true
		wait $launcher || true
	done
	fail "$mpi: no merge could be stopped before its end"
}

# Prints the largest memory of a rank, in KiB.
memory() {	# RANKS DIR
	rm -rf "$work/o" "$work/rss"
	mkdir "$work/rss"
	timeout 300 mpirun.$mpi -n "$1" "$helpers/peak" "$work/rss" "$program" -q -o "$work/o" \
		--inputs "$2.names" >"$work/out" 2>"$work/err" || fail "$mpi: merge of $2"
	cut -d' ' -f2 "$work"/rss/* | sort -n | tail -n 1
}

"$helpers/world" "$(mkdir "$work/plain" && echo "$work/plain")" 1
# Two recordings of a node; nodes are shifted because of messages.
"$helpers/world" "$(mkdir "$work/twins" && echo "$work/twins")" 13 auto twins
"$helpers/world" "$(mkdir "$work/big" && echo "$work/big")" big 3000000
"$helpers/world" "$(mkdir "$work/small" && echo "$work/small")" big 500
"$helpers/world" "$(mkdir "$work/messages" && echo "$work/messages")" big 500 messages
for n in 10 100 400; do
	python3 "$here/copies.py" "$work/small/b" $n "$work/many$n"
	cp -r "$work/small/a" "$work/many$n/a"
	ls -d "$work/many$n"/* >"$work/many$n.names"
done
# Ambiguous messages: each is received 100 times.
python3 "$here/copies.py" "$work/messages/b" 100 "$work/messages"
cp -r "$work/plain" "$work/damaged"
file=$(find "$work/damaged/c" -name 'default_*' -size +4k | head -n 1)
truncate -s -100 "$file"

"$ctl" export -q -f otf2 -o "$work/x.otf2" "$work/small/a"

nr=0
for mpi in openmpi mpich; do
	[ -e "$program-$mpi" ] || continue
	nr=$((nr + 1))
	same 0 "$work"/plain/[abc]
	same 0 "$work"/twins/[abcd]
	grep -q '"shift_ns": -\?[1-9]' "$work/alone.json" || fail "no node was shifted"
	[ "$(number locations "$work/alone.json") $(number cpus "$work/alone.json")" = "8 6" ] ||
		fail "the twins have CPUs of their own"
	same 3 --salvage --missing "d: no space" "$work"/damaged/[abc]
	same 0 --resolution 10G --force "$work"/plain/b "$work"/plain/b "$work"/plain/a
	# A merged recording among the inputs
	rm -rf "$work/ab"
	run 0 merge -q -o "$work/ab" "$work"/plain/[ab]
	same 0 "$work/plain/c" "$work/ab"
	# More ranks than recordings
	on_ranks 0 4 -q -o "$work/o" "$work/plain/a"
	[ ! -s "$work/out" ] || fail "-q prints something"
	rm -r "$work/o"
	# As if another MPI's launcher had started it: it would be one of two that merge all
	other=PMI
	[ $mpi = openmpi ] || other=OMPI_COMM_WORLD
	! env ${other}_SIZE=2 ${other}_RANK=0 "$program-$mpi" -q -o "$work/o" "$work/plain/a" \
		2>"$work/err" || fail "$mpi: merges under another MPI's launcher"
	grep -q "started 2 processes (${other}_SIZE), but each is alone" "$work/err" &&
		[ ! -e "$work/o" ] || fail "$mpi: another MPI's launcher: $(cat "$work/err")"
	! env ${other}_SIZE=2 ${other}_RANK=1 "$program-$mpi" -q -o "$work/o" "$work/plain/a" \
		2>"$work/err" && [ ! -s "$work/err" ] || fail "$mpi: the second process prints"

	# The error of the third input is that of another rank, and is printed once.
	on_ranks 1 3 -o "$work/o" "$work"/damaged/[abc]
	[ "$(grep -c "damaged/c: stream ${file##*/}: cut off .*--salvage" "$work/err")" = 1 ] ||
		fail "$mpi: the damaged input"
	none_left
	on_ranks 1 2 -o "$work/o" "$work/plain/a" "$work/plain/a"
	says 'a: given twice'
	on_ranks 1 2 -o "$work/o" "$work/plain/a" "$work/none" "$work/plain/b"
	says 'none: No such file'
	on_ranks 2 2 -o "$work/o" --inputs - </dev/null
	says 'does not work with several ranks'
	on_ranks 1 2 -o "$work/o" "$work/small/a" "$work/x.otf2"
	says 'x.otf2: not a recording'
	none_left

	# A killed rank ends the job. What it leaves has no metadata, and another name.
	start_stopped
	kill -KILL "${ranks[1]}"
	kill -CONT "${ranks[@]}" 2>/dev/null || true
	! wait $launcher || fail "$mpi: a killed rank: exit status 0"
	[ ! -e "$work/o" ] || fail "$mpi: a killed rank, and a result"
	[ -z "$(find "$work" -path '*/.o.*/metadata')" ] || fail "$mpi: a killed rank, and metadata"
	rm -rf "$work"/.o.*
	# Ranks that are interrupted remove what they wrote.
	start_stopped
	kill -TERM "${ranks[@]}"
	kill -CONT "${ranks[@]}"
	! wait $launcher || fail "$mpi: interrupted ranks: exit status 0"
	says 'o: interrupted; no result was written'
	none_left
	# A launcher that is ended ends its ranks, be it after they have the result.
	for signal in INT TERM; do
		start_stopped
		kill -$signal $launcher
		kill -CONT "${ranks[@]}" 2>/dev/null || true
		wait $launcher || true
		wait_for "$mpi: the ranks end with the launcher, SIG$signal" no_ranks
		[ ! -e "$work/o" ] || [ "$("$ctl" dump "$work/o" | wc -l)" = 6000000 ] ||
			fail "$mpi: SIG$signal: a part of the result"
	done
	rm -rf "$work"/.o.*

	same 0 "$work"/messages/*
	# What grows with the number of recordings are the lines that a rank adds to the
	# metadata. While a rank is stopped, MPI keeps the messages for it in memory, so that three
	# attempts are made.
	for attempt in 1 2 3; do
		for n in 10 100 400; do
			rss=$(memory 2 "$work/many$n")
			echo "$mpi: $((n + 1)) recordings on 2 ranks: $rss KiB in a rank"
			eval "rss$n=$rss"
		done
		# shellcheck disable=SC2154
		[ $((rss400 - rss10)) -ge $((200 * 16)) ] || break
		[ $attempt -lt 3 ] || fail "$mpi: memory grows"
	done
	run 0 merge -q -o "$work/alone4" --inputs - <"$work/many400.names"
	diff -r "$work/alone4" "$work/o" >"$work/diff" || fail "$mpi: 401 recordings"
	rm -rf "$work/o" "$work/alone4"
	echo "$mpi: the same on 1, 2 and 4 ranks"
done
[ $nr -gt 0 ] || skip "no trace-ctl-merge-mpi: install libopenmpi-dev or libmpich-dev"
