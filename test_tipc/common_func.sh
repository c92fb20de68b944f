# Sourced by the scripts of this folder.

# Puts an octet before all others in PATH: $OCTET, else the one that `make build` made in this clone. Else there must be
# one in PATH.
find_octet() {
  local root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  if [ -n "$OCTET" ]; then
    PATH="$(dirname "$OCTET"):$PATH"
  elif [ -x "$root/build/release/octet" ]; then
    PATH="$root/build/release:$PATH"
  elif ! command -v octet > /dev/null; then
    echo "octet is neither in build/release nor in PATH; \`make build\` makes it" >&2
    exit 2
  fi
}
