# Programs of Debian's packages without an installation, for scripts that install; to be sourced after `folder` is set, and its `bin` made.

# `unpack PACKAGE`: unpacks a package of the system's mirrors, and the libraries that it needs and the system lacks.
unpack() {
    command -v apt-get >/dev/null || { echo "there is no apt-get that gets $1; install it" >&2; exit 1; }
    # A fresh machine may have no lists of packages.
    apt-cache policy "$1" | grep 'Candidate: [0-9]' >/dev/null || apt-get update >&2
    rm -rf "$folder/packages"
    mkdir -p "$folder/packages" "$folder/root"
    local missing
    # Each line is `Inst NAME ..`.
    missing="$(apt-get install --simulate --no-install-recommends "$1" | sed -n 's/^Inst \([^ ]*\) .*/\1/p')"
    # shellcheck disable=SC2086
    (cd "$folder/packages" && apt-get download ${missing:-$1}) >&2
    local package
    for package in "$folder"/packages/*.deb; do dpkg-deb --extract "$package" "$folder/root"; done
    # Tests run as another user, too.
    chmod -R a+rX "$folder/root"
}

# The path of program $1 among the unpacked packages.
unpacked() {
    local candidate
    for candidate in "$folder"/root/usr/{bin,sbin}/"$1"; do
        [ ! -x "$candidate" ] || { echo "$candidate"; return; }
    done
    return 1
}

# `program NAME PACKAGE FLAG`: prints the path of a program of the system, or else of one that is unpacked, which prints its version by FLAG. An
# unpacked one has its libraries by a script that is named as the program.
program() {
    # Programs of administrators are not in the path of every user.
    if PATH="$PATH:/usr/sbin" command -v "$1"; then return; fi
    if [ ! -x "$folder/bin/$1" ]; then
        [ -n "$(unpacked "$1")" ] || unpack "$2"
        local libraries
        libraries="$(find "$folder/root" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)"
        printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$libraries" "$(unpacked "$1")" >"$folder/bin/$1"
        chmod 755 "$folder/bin/$1"
    fi
    # Without a library, it ends here.
    "$folder/bin/$1" "$3" >&2
    echo "$folder/bin/$1"
}
