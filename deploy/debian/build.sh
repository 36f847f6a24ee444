#!/bin/sh
# Builds the Debian packages from a tarball of `make dist` and lets lintian look at them.
#
#   deploy/debian/build.sh TARBALL VERSION FOLDER      the packages end up in FOLDER, which is made anew
#
# Debian's tools want a folder debian/ at the top of the tree: it is there only in the unpacked copy.
set -eu
tarball=$1 version=$2 out=$3

for tool in dpkg-buildpackage dh lintian; do
	if ! command -v "$tool" >/dev/null; then
		echo "make deb: $tool is missing; as root: apt-get install devscripts debhelper lintian" >&2
		exit 1
	fi
done
rm -rf "$out"
mkdir -p "$out"
cp "$tarball" "$out/lockstep_$version.orig.tar.gz"
tar -C "$out" -xzf "$tarball"
tree=$out/lockstep-$version
cp -R "$tree/deploy/debian" "$tree/debian"
rm "$tree/debian/build.sh" "$tree/debian/try.sh"
(cd "$tree" && dpkg-buildpackage -us -uc)
lintian --fail-on error,warning --info "$out"/*.changes
rm -rf "$tree"
ls -l "$out"/*.deb
