from ._price_columns import (
    PricedColumn as PricedColumn,
    price_columns as price_columns,
    price_run_columns as price_run_columns,
)
from ._price_files import (
    DEFAULT_PRICE_TABLE as DEFAULT_PRICE_TABLE,
    open_price_table as open_price_table,
    price_table_names as price_table_names,
)
from ._price_table import (
    INPUT_KINDS as INPUT_KINDS,
    NEEDED_KINDS as NEEDED_KINDS,
    PICO_PER_USD as PICO_PER_USD,
    ModelPrices as ModelPrices,
    Period as Period,
    Pico as Pico,
    Priced as Priced,
    PriceLine as PriceLine,
    PriceTable as PriceTable,
    Rates as Rates,
    add_pico as add_pico,
    in_usd as in_usd,
    price_lines as price_lines,
)
from ._run_costs import (
    Charge as Charge,
    PlacesOf as PlacesOf,
    charges as charges,
    cost_of as cost_of,
    price_component as price_component,
    price_run as price_run,
    token_cost as token_cost,
)
