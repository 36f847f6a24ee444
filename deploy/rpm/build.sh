#!/bin/sh
# Builds the RPMs from a tarball of `make dist`.
#
#   deploy/rpm/build.sh TARBALL VERSION FOLDER      the packages end up in FOLDER, which is made anew
#
# On RHEL, Fedora and SUSE the build's needs are checked by rpmbuild. Elsewhere (Debian has rpmbuild too) there is no RPM database to
# ask, and the macros of systemd are missing: good for a look at the packages, not for handing them out.
set -eu
tarball=$1 version=$2 out=$3

if ! command -v rpmbuild >/dev/null; then
	echo "make rpm: rpmbuild is missing; install rpm-build (Debian: rpm)" >&2
	exit 1
fi
rm -rf "$out"
mkdir -p "$out/SOURCES"
cp "$tarball" "$out/SOURCES/"
out=$(cd "$out" && pwd)
tar -C "$out" -xzf "$tarball" "lockstep-$version/deploy/rpm"
foreign=
if ! command -v dnf >/dev/null && ! command -v zypper >/dev/null; then
	foreign=yes
	echo "make rpm: neither dnf nor zypper is here: building without a look at BuildRequires, and without scriptlets of systemd" >&2
fi
chmod 0644 "$out/lockstep-$version/deploy/rpm/lockstep.spec"
rpmbuild --define "_topdir $out" ${foreign:+--nodeps} ${foreign:+--define "debug_package %{nil}"} \
	-ba "$out/lockstep-$version/deploy/rpm/lockstep.spec"
mv "$out"/RPMS/*/*.rpm "$out"/SRPMS/*.rpm "$out/"
cp "$out/lockstep-$version/deploy/rpm/lockstep.rpmlintrc.toml" "$out/"
rm -rf "$out/BUILD" "$out/BUILDROOT" "$out/SOURCES" "$out/SPECS" "$out/RPMS" "$out/SRPMS" "$out/lockstep-$version"
if command -v rpmlint >/dev/null; then
	rpmlint --config "$out/lockstep.rpmlintrc.toml" "$out"/*.rpm
else
	echo "make rpm: rpmlint is not here: the packages are not checked" >&2
fi
rm "$out/lockstep.rpmlintrc.toml"
ls -l "$out"/*.rpm
