# Sourced by the scripts of this folder.

# Puts the octet of this clone, if it is built, before any other.
find_octet() {
  local root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  if [ -x "$root/build/release/octet" ]; then
    PATH="$root/build/release:$PATH"
  elif ! command -v octet > /dev/null; then
    echo "octet is neither in build/release nor in PATH; \`make build\` makes it" >&2
    exit 2
  fi
}
