#!/bin/bash
# SPDX-License-Identifier: MIT
#
# keep.sh PROGRAM FOLDER CORPUS [OPTION]... - adds the inputs of FOLDER/found that add
# coverage to CORPUS, and removes inputs of CORPUS that add none
set -euo pipefail

program=$1 folder=$2 corpus=$(realpath "$3")
shift 3
rm -rf "$folder/merged"
mkdir -p "$folder/merged" "$folder/found"
"$program" "$@" -set_cover_merge=1 -use_counters=0 -use_cmp=0 "$folder/merged" "$corpus" \
	"$folder/found" >"$folder/merge.log" 2>&1 || { tail "$folder/merge.log"; exit 1; }
rm -f "$corpus"/*.bin
# Names end in .bin, so that git does not treat the files as text.
for file in "$folder/merged"/*; do
	mv "$file" "$corpus/$(basename "$file" | cut -c 1-12).bin"
done
echo "$(find "$corpus" -type f | wc -l) inputs in $corpus"
