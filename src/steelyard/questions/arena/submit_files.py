"""Submit results to be scored and ranked.

Valid submissions are accepted. Invalid ones are rejected with a reason.
"""

from __future__ import annotations

from pathlib import Path

from steelyard.arena import read_submissions
from steelyard.questions._options import FilePaths, paths_of
from steelyard.questions._question import Options, arena_action, doc
from steelyard.questions.arena._submitted import SubmissionTarget, SubmitResult, submit_located


class SubmitFilesOptions(Options):
    """Options of `arena submit`."""

    files: FilePaths = doc(
        "Submissions: JSONL, JSON, CSV or Parquet, optionally compressed; - for stdin.", kw_only=False, local=True
    )
    artifacts: Path | None = doc(
        "Artifact directory (default: the directory of the submissions file).", default=None, local=True
    )


@arena_action(
    SubmitFilesOptions,
    scope="submit",
    sends="submissions",
    command="arena submit {files}",
    variants={"from_runs": "arena_submit_runs"},
    examples=({"files": "submissions.jsonl"},),
)
def arena_submit_files(arena: SubmissionTarget, options: SubmitFilesOptions) -> SubmitResult:
    """Submit the submissions in the files; paths of artifacts are relative to `artifacts`."""
    files = ((path, read_submissions(path)) for path in paths_of(options.files))
    return submit_located(arena, files, artifacts=lambda path: options.artifacts or path.parent, what="submissions")
