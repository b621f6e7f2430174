from ._commands import (
    RunningCommand as RunningCommand,
    active_isolation as active_isolation,
    isolation_named as isolation_named,
    run as run,
    start as start,
)
from ._sandbox_records import (
    HOME_FOLDER as HOME_FOLDER,
    WORK_FOLDER as WORK_FOLDER,
    Content as Content,
    Isolation as Isolation,
    IsolationName as IsolationName,
    LimitName as LimitName,
    Limits as Limits,
    SandboxResult as SandboxResult,
    Stay as Stay,
    printable as printable,
)
