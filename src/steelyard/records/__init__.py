"""The records: a Run and its parts, tasks, submissions, findings, and the rules of identity and missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.records._custom_fields import (
        CustomKind as CustomKind,
        custom_cell as custom_cell,
        custom_input as custom_input,
        custom_inputs as custom_inputs,
        custom_text as custom_text,
        custom_value as custom_value,
        is_custom_field as is_custom_field,
        is_custom_input as is_custom_input,
        plain_type as plain_type,
    )
    from steelyard.records._decoding import (
        CONTENT_BYTES as CONTENT_BYTES,
        JSON_ERRORS as JSON_ERRORS,
        DecodeError as DecodeError,
        RunIds as RunIds,
        checked_run as checked_run,
        content_digest as content_digest,
        convert_run as convert_run,
        decode_run as decode_run,
        encode_run as encode_run,
        json_problem as json_problem,
        repeated_finding as repeated_finding,
    )
    from steelyard.records._facts import (
        FACT_PARTS as FACT_PARTS,
        FACTS as FACTS,
        GROUP_KEYS as GROUP_KEYS,
        KEY_PARTS as KEY_PARTS,
        PROVIDED_MODEL as PROVIDED_MODEL,
        VALUE_PARTS as VALUE_PARTS,
        FactGroup as FactGroup,
        FromColumns as FromColumns,
        Kind as Kind,
        component_column as component_column,
        key_label as key_label,
        key_text as key_text,
        model_group as model_group,
        run_facts as run_facts,
    )
    from steelyard.records._findings import (
        EMPTY_FILE as EMPTY_FILE,
        GRAVEST_FIRST as GRAVEST_FIRST,
        Finding as Finding,
        Place as Place,
        PlacesOnDemand as PlacesOnDemand,
        Rejected as Rejected,
        SetAside as SetAside,
        Severity as Severity,
        finding_dict as finding_dict,
        one_a_kind as one_a_kind,
        set_aside_findings as set_aside_findings,
    )
    from steelyard.records._json_schemas import (
        RECORDS as RECORDS,
        field_meanings as field_meanings,
        json_schema as json_schema,
    )
    from steelyard.records._labels import (
        NO_LABELS as NO_LABELS,
        Labeler as Labeler,
        Labels as Labels,
        labels_of as labels_of,
    )
    from steelyard.records._record_types import (
        MAX_NAME_BYTES as MAX_NAME_BYTES,
        MAX_VALUE as MAX_VALUE,
        Amount as Amount,
        Count as Count,
        Fraction as Fraction,
        Missing as Missing,
        Record as Record,
        find_non_finite as find_non_finite,
        is_storable as is_storable,
        is_too_long as is_too_long,
        problem_text as problem_text,
        unknown_field as unknown_field,
    )
    from steelyard.records._redaction import (
        SHAPES as SHAPES,
        Redaction as Redaction,
    )
    from steelyard.records._run import (
        DEFAULT_SCHEME as DEFAULT_SCHEME,
        SCHEMES as SCHEMES,
        VERDICTS as VERDICTS,
        Action as Action,
        BenchmarkTiming as BenchmarkTiming,
        Call as Call,
        Change as Change,
        Component as Component,
        ComponentType as ComponentType,
        Criterion as Criterion,
        Failure as Failure,
        FailureCause as FailureCause,
        Judgment as Judgment,
        Origin as Origin,
        Outcome as Outcome,
        Output as Output,
        Provenance as Provenance,
        Run as Run,
        Snapshot as Snapshot,
        Step as Step,
        Steps as Steps,
        TestResults as TestResults,
        calls_in as calls_in,
        tier_meaning as tier_meaning,
        tier_problem as tier_problem,
        tier_text as tier_text,
    )
    from steelyard.records._run_choice import (
        Chosen as Chosen,
        KeyCondition as KeyCondition,
        RunChoice as RunChoice,
        RunChooser as RunChooser,
        check_key as check_key,
        conditions_of as conditions_of,
        key_of as key_of,
        none_together as none_together,
        outside_findings as outside_findings,
        pooled_schemes as pooled_schemes,
        unmet as unmet,
    )
    from steelyard.records._store_records import (
        PARTY_KINDS as PARTY_KINDS,
        SCOPES as SCOPES,
        Canon as Canon,
        Party as Party,
        PartyKind as PartyKind,
        Scope as Scope,
        Token as Token,
    )
    from steelyard.records._submission import (
        Submission as Submission,
        check_submission as check_submission,
        check_submissions as check_submissions,
        convert_submission as convert_submission,
        decode_submission as decode_submission,
        submission_digest as submission_digest,
        submission_from_run as submission_from_run,
        without_inputs as without_inputs,
    )
    from steelyard.records._sums import (
        exact_mean as exact_mean,
        exact_quotient as exact_quotient,
        sum_in_order as sum_in_order,
        sum_of_known as sum_of_known,
    )
    from steelyard.records._task import (
        WEIGHTS_TOLERANCE as WEIGHTS_TOLERANCE,
        CodeCompiles as CodeCompiles,
        CommandSucceeds as CommandSucceeds,
        FileExists as FileExists,
        JudgeThreshold as JudgeThreshold,
        NoErrors as NoErrors,
        ScoreWeights as ScoreWeights,
        SuccessCriterion as SuccessCriterion,
        Task as Task,
        TestsPass as TestsPass,
        check_task as check_task,
        convert_task as convert_task,
    )
    from steelyard.records._times import (
        DAY as DAY,
        LOCAL as LOCAL,
        DayFinder as DayFinder,
        Zone as Zone,
        as_utc as as_utc,
        between as between,
        end_of as end_of,
        first_and_last as first_and_last,
        iso as iso,
        microseconds_of as microseconds_of,
        moment as moment,
        moment_of as moment_of,
        names_month as names_month,
        now_microseconds as now_microseconds,
        zone_of as zone_of,
    )
    from steelyard.records._timing import (
        SECONDS as SECONDS,
        BenchmarkPlace as BenchmarkPlace,
        Timing as Timing,
        TimingStatus as TimingStatus,
        TimingSummary as TimingSummary,
        place_of as place_of,
    )
    from steelyard.records._usage import (
        TOKEN_KINDS as TOKEN_KINDS,
        Usage as Usage,
        add_usage as add_usage,
        kinds_of as kinds_of,
        sum_columns as sum_columns,
        usage_columns as usage_columns,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
