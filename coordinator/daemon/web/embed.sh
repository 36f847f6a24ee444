#!/bin/sh
# Writes the web pages as a C file: embed.sh INDEX.HTML APP.CSS APP.JS
set -eu

bytes() {
	echo "const char $1[] = {"
	od -An -v -to1 "$2" | sed "s/\([0-7][0-7][0-7]\)/'\\\\\1',/g"
	echo '0 };'
}

echo '/* made by coordinator/daemon/web/embed.sh */'
echo '#include "coordinator/daemon/web_int.h"'
bytes web_index_html "$1"
bytes web_app_css "$2"
bytes web_app_js "$3"
