from ._app import (
    COMPLETION as COMPLETION,
    add_question as add_question,
    build_app as build_app,
    command_names as command_names,
    main as main,
    outline as outline,
    run as run,
)
from ._help import help_text as help_text
from ._question_commands import command_named as command_named
from ._usage_errors import usage_error as usage_error
