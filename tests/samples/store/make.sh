#!/usr/bin/env bash
# Makes the store of another version and asks it: make.sh STEELYARD FOLDER. Moments are those of the making.
set -euo pipefail
steelyard=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
samples=$here/..
cd "$folder"
store=sqlite:///made.db
"$steelyard" arena init --store $store
"$steelyard" arena task add "$samples/arena/tasks.toml" "$here/inputs/checked_task.toml" --store $store
"$steelyard" arena submit "$samples/arena/submissions.jsonl" --store $store
"$steelyard" arena notify --targets "$here/inputs/targets.toml" --once --store $store || true # nobody listens there
sleep 1
"$steelyard" arena rescore --profile "$here/inputs/mine.toml" --store $store
sleep 1
"$steelyard" arena submit "$here/inputs/later.jsonl" --store $store
# From 200 on, 0.1.0 writes a batch folded.
python3 - >batch.jsonl <<'EOF'
import json
for n in range(210):
    agent = ("ant", "bee", "cat")[n % 3]
    row = {"id": f"b{n}", "task_id": "add-login", "total_tokens": 5000 + n * n % 977 * 31, "tool_calls": 3 + n % 17}
    row |= {"iterations": 1 + n % 5, "execution_time": 20 + n * 7 % 101, "estimated_cost": (1 + n * 3 % 29) / 100}
    print(json.dumps({**row, "agent": agent, "success": n % 4 != 0, "submitted_at": "2026-11-06T09:00:00Z"}))
EOF
"$steelyard" arena submit batch.jsonl --store $store --quiet >/dev/null
"$steelyard" repeatability "$samples/repeatability/clamp_runs.jsonl" --contract "$samples/repeatability/clamp.toml" --store $store
"$steelyard" repeatability canon retire clamp --store $store
"$steelyard" repeatability "$samples/repeatability/clamp_runs.jsonl" --contract "$samples/repeatability/clamp.toml" --level names --store $store
python3 - "$steelyard" "$here/asked.json" <<'EOF'
import json, subprocess, sqlite3, sys
steelyard, asked = sys.argv[1:]
answers = []
for arguments in json.load(open(asked)):
    done = subprocess.run([steelyard, *arguments, "--store", "sqlite:///made.db", "--json"], capture_output=True)
    assert done.returncode == 0, (arguments, done)
    answers.append({"asked": arguments, "answer": json.loads(done.stdout)})
json.dump(answers, open("answers.json", "w"), indent=1)
open("store.sql", "w").write("\n".join(sqlite3.connect("made.db").iterdump()) + "\n")
EOF
