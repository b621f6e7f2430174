"""Database storage: `open_store(url)` returns a Store, `upgrade_store(url)` upgrades an older one.

The tables are in `steelyard.store.schema`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.store._alongside import (
        Alongside as Alongside,
        alongside as alongside,
    )
    from steelyard.store._bulk import (
        insert_columns as insert_columns,
        look_up as look_up,
    )
    from steelyard.store._canon_rows import (
        canon_history as canon_history,
        canon_of as canon_of,
        retire_canon as retire_canon,
        set_canon as set_canon,
    )
    from steelyard.store._migrate import (
        Migration as Migration,
    )
    from steelyard.store._model_rows import (
        KeptVersion as KeptVersion,
        ModelVersion as ModelVersion,
        model_seen as model_seen,
        model_version as model_version,
        model_versions as model_versions,
        save_model as save_model,
    )
    from steelyard.store._store import (
        Store as Store,
        open_store as open_store,
    )
    from steelyard.store._token_rows import (
        authenticate as authenticate,
        create_token as create_token,
        list_tokens as list_tokens,
        revoke_token as revoke_token,
    )
    from steelyard.store._upgrade import (
        Upgraded as Upgraded,
        upgrade_store as upgrade_store,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
