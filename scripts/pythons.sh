#!/usr/bin/env bash
# Run the tests on every Python that the classifiers in pyproject.toml name: scripts/pythons.sh test|wheel [VERSION-TO-LEAVE-OUT...]
#
# `test` runs them in the checkout, each Python with a virtual environment of its own, .venv-3.X; `wheel` tests dist/*.whl.
# Interpreters are looked for on PATH and among pyenv's versions. One that is not found is named and left out; a failure
# on one does not keep the others from being tried.
set -euo pipefail
cd "$(dirname "$0")/.."
trap 'exit 130' INT
trap 'exit 143' TERM
what=$1
shift

find_python() {
    local version=$1 candidate
    # pyenv puts a program for each of its versions on PATH, also for those that are not active, where it only fails.
    for candidate in $(type -ap "python$version" || true) \
        $(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/"python$version" 2>/dev/null | sort -V -r); do
        if [ "$("$candidate" -c "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])" 2>/dev/null)" = "$version" ]; then
            echo "$candidate"
            return
        fi
    done
}

run_tests() {
    case $what in
    test) "${MAKE:-make}" test PYTHON="$2" VENV=".venv-$1" ;;
    wheel) "$2" scripts/wheel.py dist/*.whl ${T:-} ;;
    *) echo "$what is neither test nor wheel" >&2; exit 2 ;;
    esac
}

tested=() missing=() failed=()
for version in $(sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]*\)".*/\1/p' pyproject.toml); do
    if [[ " $* " == *" $version "* ]]; then
        continue
    fi
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        missing+=("$version")
        continue
    fi
    echo "== Python $version ($python)"
    tested+=("$version")
    run_tests "$version" "$python" || failed+=("$version")
done

echo "== tests run on Python: ${tested[*]:-no other}; not found: ${missing[*]:-none}; failed: ${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ]
