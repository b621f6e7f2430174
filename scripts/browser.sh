#!/usr/bin/env bash
# Run a command with a Chromium: scripts/browser.sh COMMAND...
#
# The distribution's package is installed where it is missing and this user may install it. Where none can be had, the
# tests that need one skip with a sentence.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
    if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium || true
    fi
fi
exec "$@"
