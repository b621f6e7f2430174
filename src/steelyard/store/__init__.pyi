from ._bulk import (
    BackgroundWriter as BackgroundWriter,
    background_writer as background_writer,
    insert_columns as insert_columns,
    look_up as look_up,
)
from ._rows import (
    KeptVersion as KeptVersion,
    ModelVersion as ModelVersion,
    authenticate as authenticate,
    canon_history as canon_history,
    canon_of as canon_of,
    create_token as create_token,
    list_tokens as list_tokens,
    model_seen as model_seen,
    model_version as model_version,
    model_versions as model_versions,
    retire_canon as retire_canon,
    revoke_token as revoke_token,
    save_model as save_model,
    set_canon as set_canon,
)
from ._store import (
    Migration as Migration,
    Store as Store,
    UpgradeResult as UpgradeResult,
    open_store as open_store,
    upgrade_store as upgrade_store,
)
