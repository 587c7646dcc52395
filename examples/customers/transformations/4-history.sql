-- Gold: every state that a customer ever had, with the time from which (__START_AT) and until which (__END_AT) it held (SCD type 2).
CREATE OR REFRESH STREAMING TABLE customers_history
COMMENT 'one row per customer and state'
TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true');

CREATE FLOW customers_history_flow AS AUTO CDC INTO customers_history
FROM STREAM customers_clean
KEYS (id)
APPLY AS DELETE WHEN operation = 'DELETE'
SEQUENCE BY operation_date
COLUMNS * EXCEPT (operation, operation_date, _rescued_data)
STORED AS SCD TYPE 2;
