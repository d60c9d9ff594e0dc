#!/bin/sh
# Install Debian packages that are missing, with apt where root or sudo allows; otherwise say which they are.
set -eu

missing=""
for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    # Not Debian: what counts is that the programs are there.
    case "$*" in
    *riscv64*) programs="riscv64-unknown-elf-gcc qemu-system-riscv32" ;;
    *) programs="arm-none-eabi-gcc qemu-system-arm" ;;
    esac
    for program in $programs; do
        command -v "$program" >/dev/null || { echo "$program is missing: install it with your package manager" >&2; exit 1; }
    done
    exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "these packages are missing, and neither root nor sudo is available: apt-get install$missing" >&2
    exit 1
fi

echo "installing$missing"
$as_root apt-get update -qq
# shellcheck disable=SC2086 # one word per package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
