#!/bin/sh
# Names each #include of ours that the folder may not use (tests/lint/layers.txt). Exit 1 if there is one.
set -eu
bad=0
sed -n '/^#/d; s/^\([a-z/]*\):\(.*\)$/\1 \2/p' tests/lint/layers.txt | {
	while read -r folder allowed; do
		for file in "$folder"/*.[ch] "$folder"/*.def; do
			[ -e "$file" ] || continue
			for target in $(sed -n 's/^#include "\(.*\)\/[^/]*".*/\1/p' "$file"); do
				case " $folder $allowed " in
				*" $target "*) ;;
				*)
					echo "$file includes $target, which $folder may not use"
					bad=1
					;;
				esac
			done
		done
	done
	exit $bad
}
