-- Clean: events that can be applied. What is dropped is counted per rule in the event log.
CREATE OR REFRESH STREAMING TABLE customers_clean (
  CONSTRAINT no_rescued_data EXPECT (_rescued_data IS NULL) ON VIOLATION DROP ROW,
  CONSTRAINT valid_id EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT valid_operation EXPECT (operation IN ('APPEND', 'UPDATE', 'DELETE')) ON VIOLATION DROP ROW,
  CONSTRAINT has_address EXPECT (operation = 'DELETE' OR address IS NOT NULL)
)
COMMENT 'change events that passed the checks'
AS SELECT * EXCEPT (operation_date), CAST(operation_date AS TIMESTAMP) AS operation_date
FROM STREAM customers_bronze;
