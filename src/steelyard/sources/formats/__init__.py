"""Log, report and timing formats, one file each, and the words to write more.

A format's author writes one module with

    def recognizes(head: Head) -> bool: ...
    def read(path: Path) -> Iterator[ReadItem]: ...
    FORMAT = LogFormat(name=..., title=..., kind=..., yields=(...), recognizes=recognizes, read=read)

and puts it in this folder, in a folder that `STEELYARD_FORMATS` names, or in a package whose entry point of the group
`steelyard.formats` names the module (or the `LogFormat` itself). Formats of ours are asked first, then those of
plug-ins by distribution and by file, then our own run records; the first that recognizes a file reads it, and
`--format NAME` asks one alone. A name that is taken is rejected.

- `recognizes` goes by content, never by the file's name, and never raises, whatever the bytes. A sample of the format
  is recognized by no other format, and it recognizes no sample of theirs.
- `read` gives a `RunPart` for a run that other files may add to (`role` is its kind), a `PlacedRun` for a run that
  is complete, a `Rejected` with file and line for each record that it cannot use, and a `Finding` for what a reader of
  the numbers should know. `run_from` makes the runs: it checks every value and names the format as their origin.
- `read` may raise `UnreadableFileError`, `DecodeError` and `OSError`: the file is then listed as rejected. Any other
  exception is a bug in the format.
- Memory stays bounded: `records` and `document` of `steelyard.files` read lines and documents up to a limit.
- A file cut at any byte gives a true prefix of its runs, or reports what was cut off; reading twice gives the same.
- Unknown is not zero: a number that the tool does not state is left out, and `how` is `reported`, `counted`,
  `lower_bound` or `unknown`. Kinds of tokens are disjoint (`disjoint_usage`).

A format of timings is a `TimingFormat`, whose `recognizes` and `read` are given an `OpenedFile` and whose result
`collected` makes. The laws are in `tests/support/format_laws.py`; docs/project/guides/formats.md has a tested example.
"""
