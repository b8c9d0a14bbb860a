# Tests of the greeting.
. ./greet.sh

expect() {
    if [ "$1" = "$2" ]; then
        echo "ok: $2"
    else
        echo "failed: expected \"$2\", got \"$1\""
        exit 1
    fi
}

run_tests() {
    expect "$(greet Ada)" "Hello, Ada!"
    expect "$(greet)" "Hello, you!"
}

# Written at once: whoever watches sees one update, never a part of one.
report="$(run_tests)"
code=$?
echo "$report"
exit "$code"
