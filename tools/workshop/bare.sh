#!/usr/bin/env bash
# Tries the last commit on a bare Debian, in a chroot that is thrown away. As root, with debootstrap installed:
#
#   tools/workshop/bare.sh [SUITE [COMMAND [ARGUMENT...]]]
#
# SUITE is bookworm unless given; COMMAND runs in the clone, and is by default what the README promises of a machine with
# make and python3. Of this machine the chroot sees copies of the commit and of the settings that lead to its package
# registries (apt, pip, uv, certificates, proxies), and nothing else.
set -euo pipefail
suite=${1:-bookworm}
shift || true
[ $# -gt 0 ] || set -- sh -ec 'apt-get install -qq -y --no-install-recommends make python3 >/dev/null; make demo; make test'

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Release: $codename" | sort -u | head -n 1)
root=$(mktemp -d "/tmp/bare-$suite-XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
chmod 755 "$root" # apt fetches as a user of its own

debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" || { tail "$root.log"; exit 1; }
rm "$root.log"

copy() { # each path that exists here, to the same place there
  for path; do
    [ ! -e "$path" ] || { mkdir -p "$root${path%/*}" && cp -RL "$path" "$root${path%/*}/"; }
  done
}
rm -r "$root/etc/apt"
copy /etc/apt /etc/pip.conf /etc/uv ~/.config/pip ~/.config/uv
copy /usr/local/share/ca-certificates /etc/ssl/certs/ca-certificates.crt ${PIP_FIND_LINKS:-}
find "$root"/etc/apt -name '*.list' -o -name '*.sources' | xargs -r sed -i "s/\b$codename\b/$suite/g"
git -c safe.directory='*' clone --quiet --no-hardlinks "$checkout" "$root/checkout"

mapfile -t settings < <(env | grep -E '^(PIP|UV|SSL_CERT)_|_proxy=|_PROXY=')
inside() {
  unshare --mount --pid --fork --root="$root" --mount-proc --wd=/checkout \
    sh -ec 'mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts; ln -sf pts/ptmx /dev/ptmx; exec "$@"' sh \
    env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" "$@"
}
inside apt-get update -qq
inside "$@"
