#!/bin/sh
# Installs what lockstep needs to be built (group "build") and tested (group "test").
#
#   deploy/install-deps.sh build|test           install the group's packages (test includes build)
#   deploy/install-deps.sh --check build|test   only look: exit 0 when nothing is missing, else 1 and the list
#
# Knows Debian and Ubuntu (apt), Fedora and RHEL and its kin (dnf), SUSE (zypper).
set -eu

# what is looked for              Debian             Fedora, RHEL            SUSE           (-: not packaged there, not needed)
needs() {
	cat <<'LIST'
build command:cc            gcc                gcc                     gcc
build command:make          make               make                    make
build command:ar            binutils           binutils                binutils
build header:stdio.h        libc6-dev          glibc-devel             glibc-devel
build header:event2/event.h libevent-dev libevent-devel libevent-devel
build header:openssl/ssl.h  libssl-dev         openssl-devel           libopenssl-devel
build header:jansson.h      libjansson-dev     jansson-devel           libjansson-devel
build header:liburing.h     liburing-dev       liburing-devel          liburing-devel
build header:libaio.h       libaio-dev         libaio-devel            libaio-devel
build header:sqlite3.h      libsqlite3-dev     sqlite-devel            sqlite3-devel
build header:ini.h          libinih-dev        inih-devel              libinih-devel
build header:systemd/sd-daemon.h libsystemd-dev systemd-devel          systemd-devel
build file:/usr/share/javascript/dygraphs/dygraph.min.js libjs-dygraphs - -
build header:xlsxwriter.h   libxlsxwriter-dev  -                       -
test  header:cmocka.h       libcmocka-dev      libcmocka-devel         libcmocka-devel
test  header:sanitizer/asan_interface.h libgcc-12-dev libasan          libasan8
test  command:python3       python3            python3                 python3
test  python:pytest         python3-pytest     python3-pytest          python3-pytest
test  python:jsonschema     python3-jsonschema python3-jsonschema      python3-jsonschema
test  command:openssl       openssl            openssl                 openssl
test  command:strace        strace             strace                  strace
test  command:ip            iproute2           iproute                 iproute2
test  command:unshare       util-linux         util-linux              util-linux
test  command:mkfs.ext4     e2fsprogs          e2fsprogs               e2fsprogs
test  command:git           git                git                     git
test  command:clang-format  clang-format       clang-tools-extra       clang-tools
test  command:clang         clang              clang                   clang
test  command:cppcheck      cppcheck           cppcheck                cppcheck
test  command:mandoc        mandoc             mandoc                  mandoc
test  header:fuse3/fuse.h   libfuse3-dev       fuse3-devel             fuse3-devel
test  command:fusermount3   fuse3              fuse3                   fuse3
test  command:faketime      faketime           libfaketime             libfaketime
test  command:nft           nftables           nftables                nftables
test  command:ansible-playbook ansible-core    ansible-core            -
test  command:slurmctld     slurm-wlm          -                       -
test  command:munged        munge              munge                   munge
test  command:bon_csv2html  bonnie++           bonnie++                -
test  command:fio_jsonplus_clat2csv fio        -                       -
test  command:chromium      chromium           -                       -
test  command:pdftotext     poppler-utils      -                       -
test  command:promtool      prometheus         -                       -
test  command:curl          curl               curl                    curl
test  python:openpyxl       python3-openpyxl   -                       -
LIST
}

have() {
	case $1 in
	command:*) command -v "${1#command:}" >/dev/null 2>&1 || [ -x "/usr/sbin/${1#command:}" ] || [ -x "/sbin/${1#command:}" ] ;;
	file:*) [ -e "${1#file:}" ] ;;
	header:*) echo "#include <${1#header:}>" | cc -D_FILE_OFFSET_BITS=64 -DFUSE_USE_VERSION=35 -E -x c - >/dev/null 2>&1 ;;
	python:*) /usr/bin/python3 -c "import ${1#python:}" >/dev/null 2>&1 ;;
	esac
}

# missing GROUP COLUMN: the packages (of that distribution's column) that provide what is not there
missing() {
	needs | while read -r group what debian fedora suse; do
		[ "$group" = build ] || [ "$1" = test ] || continue
		have "$what" && continue
		case $2 in
		debian) echo "$debian" ;;
		fedora) echo "$fedora" ;;
		suse) echo "$suse" ;;
		*) echo "$what" ;;
		esac
	done | grep -vx -e - | sort -u
}

check=no
if [ "${1:-}" = --check ]; then
	check=yes
	shift
fi
group=${1:-}
case $group in
build | test) ;;
*)
	echo "usage: deploy/install-deps.sh [--check] build|test" >&2
	exit 2
	;;
esac

if command -v apt-get >/dev/null 2>&1; then
	kind=debian
elif command -v dnf >/dev/null 2>&1; then
	kind=fedora
elif command -v zypper >/dev/null 2>&1; then
	kind=suse
else
	kind=unknown
fi

packages=$(missing "$group" "$kind" | tr '\n' ' ')
[ -n "$packages" ] || exit 0
if [ "$check" = yes ]; then
	echo "missing: $packages"
	exit 1
fi
if [ "$kind" = unknown ]; then
	echo "install-deps: neither apt-get, dnf nor zypper is here. Please install what provides: $packages" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "install-deps: not root, and no sudo. Please install as root: $packages" >&2
		exit 1
	fi
	sudo=sudo
else
	sudo=
fi
echo "install-deps: installing $packages"
case $kind in
debian)
	$sudo apt-get update -qq
	# shellcheck disable=SC2086 # a list of words
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
	;;
fedora)
	# shellcheck disable=SC2086
	$sudo dnf install -y -q $packages
	;;
suse)
	# shellcheck disable=SC2086
	$sudo zypper --non-interactive --quiet install $packages
	;;
esac
still=$(missing "$group" "$kind" | tr '\n' ' ')
if [ -n "$still" ]; then
	echo "install-deps: still missing after the installation: $still" >&2
	exit 1
fi
