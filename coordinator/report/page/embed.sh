#!/bin/sh
# Writes the parts of the page as a C file: embed.sh PAGE.CSS PAGE.JS [DYGRAPH.JS]. Without dygraphs its text is empty, and page.js draws
# the charts itself.
set -eu

bytes() {
	echo "const char $1[] = {"
	[ -z "$2" ] || od -An -v -to1 "$2" | sed "s/\([0-7][0-7][0-7]\)/'\\\\\1',/g"
	echo '0 };'
}

if [ -n "${3:-}" ] && grep -q '</script' "$3"; then
	echo "$3: cannot stand within a page: it has \"</script\"" >&2
	exit 1
fi
echo '/* made by coordinator/report/page/embed.sh */'
echo '#include "coordinator/report/html_int.h"'
bytes html_page_css "$1"
bytes html_page_js "$2"
bytes html_dygraph_js "${3:-}"
