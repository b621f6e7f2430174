#!/usr/bin/env bash
# Run the tests on every Python that the classifiers in pyproject.toml name: scripts/pythons.sh [VERSION-TO-LEAVE-OUT...]
#
# Each Python has a virtual environment of its own, .venv-3.X. Interpreters are looked for on PATH and among pyenv's
# versions. One that is not found is named and left out; a failure on one does not keep the others from being tried.
set -euo pipefail
cd "$(dirname "$0")/.."
trap 'exit 130' INT
trap 'exit 143' TERM

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
    "${MAKE:-make}" test PYTHON="$python" VENV=".venv-$version" || failed+=("$version")
done

echo "== tests run on Python: ${tested[*]:-no other}; not found: ${missing[*]:-none}; failed: ${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ]
