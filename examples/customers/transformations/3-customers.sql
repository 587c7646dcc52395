-- Gold: the directory as it is now (SCD type 1). Late events, duplicates and any order of files give the same rows.
CREATE OR REFRESH STREAMING TABLE customers
COMMENT 'one row per customer, as of the newest event'
TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true');

CREATE FLOW customers_flow AS AUTO CDC INTO customers
FROM STREAM customers_clean
KEYS (id)
APPLY AS DELETE WHEN operation = 'DELETE'
SEQUENCE BY operation_date
COLUMNS * EXCEPT (operation, operation_date, _rescued_data)
STORED AS SCD TYPE 1;
