# Sourced: need_packages PACKAGE... installs those that are missing, and says so.
need_packages() {
  local missing=() package sudo=()
  if ! command -v dpkg-query >/dev/null; then
    echo "packages: this is no Debian; make sure that these are there: $*" >&2
    return 0
  fi
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "packages: missing: ${missing[*]}; install them as root (there is no sudo)" >&2; return 1; }
    sudo=(sudo)
  fi
  echo "packages: installing ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq >&2 || echo "packages: apt-get update failed; trying with the lists that are there" >&2
  local policy=/usr/sbin/policy-rc.d made= code=0  # what is installed for tests starts no daemon
  [ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee $policy >/dev/null && "${sudo[@]}" chmod 755 $policy && made=1; }
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 || code=$?
  [ -z "$made" ] || "${sudo[@]}" rm -f $policy
  return $code
}
