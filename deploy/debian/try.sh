#!/bin/sh
# Installs the packages of `make deb` in a copy of a bare Debian tree, looks, removes, purges, and looks again. As root.
#
#   deploy/debian/try.sh FOLDER BASE      FOLDER: build/deb; BASE: a minimal tree, such as `mmdebstrap --variant=minbase bookworm BASE`
#
# What the packages need is fetched by this machine's apt. Mounts are made in a namespace of their own and end with it.
set -eu
debs=$(cd "$1" && pwd) base=$2
work=$(mktemp -d "${TMPDIR:-/var/tmp}/lockstep-try.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

cp -a "$base" "$root"
mkdir -p "$root/debs" "$work/archives/partial"
find "$debs" -name 'lockstep*.deb' ! -name '*dbgsym*' -exec cp {} "$root/debs/" \;
apt-get install -y -qq --no-install-recommends --download-only -o "Dir::State::status=$root/var/lib/dpkg/status" \
	-o "Dir::Cache::archives=$work/archives" -o "Dir::Etc::preferences=/dev/null" "$root"/debs/*.deb >"$work/apt.log" 2>&1 || {
	cat "$work/apt.log"
	exit 1
}
mkdir "$root/needs"
find "$work/archives" -name '*.deb' ! -name 'lockstep*' -exec cp {} "$root/needs/" \;

cat >"$root/inside.sh" <<'INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
step() { echo "--- $*"; }
fail() { echo "FAILED: $*"; exit 1; }
snapshot() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /tmp -o -path /run \
	-o -path /debs -o -path /needs -o -path /var/lib/systemd \) -prune -o -print | sort; }

step "what the packages need"
dpkg -i --force-depends /needs/*.deb >/dev/null 2>&1 || dpkg --configure -a >/dev/null
snapshot >/tmp/before

step "install"
dpkg -i /debs/*.deb >/dev/null
dpkg --audit
for p in lockstep lockstepd lockstep-agent; do
	[ "$(dpkg-query -W -f '${Status}' $p)" = "install ok installed" ] || fail "$p is not installed"
	! dpkg -V $p | grep . || fail "$p: files differ"
done
getent passwd lockstep || fail "no user lockstep"

step "programs"
lockstep --version
lockstepd --version
lockstep-agent --version
lockstepd --check-config
mkdir -p /tmp/volume
lockstep run --local 3 --path /tmp/volume --json /tmp/results.json quick >/tmp/report 2>/tmp/progress || { cat /tmp/progress; fail "run"; }
tail -n 4 /tmp/report
[ -z "$(ls -A /tmp/volume)" ] || fail "the run left files"

step "as user lockstep: state, keys, runner"
lockstep pki init /etc/lockstep/pki >/dev/null
install -d -o lockstep -g lockstep -m 0750 /var/lib/lockstep /var/lib/lockstep-agent
touch /var/lib/lockstep/results /var/lib/lockstep-agent/spool /etc/lockstep/agent-x.key

step "remove keeps what was made"
dpkg -r lockstep-agent lockstepd lockstep >/dev/null
for f in /var/lib/lockstep/results /var/lib/lockstep-agent/spool /etc/lockstep/pki/ca.key /etc/lockstep/agent-x.key /etc/lockstep/agent.conf; do
	[ -e $f ] || fail "$f is gone"
done
[ ! -e /usr/bin/lockstep ] || fail "lockstep is still there"

step "install again, over what was kept"
dpkg -i /debs/*.deb >/dev/null
step "the same again, as an upgrade"
dpkg -i /debs/*.deb >/dev/null

step "purge"
dpkg -P lockstep-agent lockstepd lockstep >/tmp/purge 2>&1 || { cat /tmp/purge; fail "purge"; }
grep -i warn /tmp/purge && fail "purge warns"
rm -rf /root/.local
snapshot >/tmp/after
diff /tmp/before /tmp/after | grep '^[<>]' >/tmp/left || true
if grep -v -e '^> /etc/\(passwd\|group\|shadow\|gshadow\)-$' /tmp/left; then fail "purge left this"; fi
! dpkg -l 'lockstep*' 2>/dev/null | grep '^[^u].*lockstep' || fail "dpkg still knows them"
step "purged: no file is left but the user $(getent passwd lockstep)"
INSIDE
unshare --mount --propagation private sh -c '
	mount -t proc proc "$1/proc" && mount --bind /sys "$1/sys" && mount --rbind /dev "$1/dev" && exec chroot "$1" sh /inside.sh' sh "$root"
