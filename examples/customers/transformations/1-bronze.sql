-- Bronze: every event as it came. Each file is read exactly once. A column that the files bring later is added to the table; a value that
-- does not fit its column's type goes to _rescued_data.
CREATE OR REFRESH STREAMING TABLE customers_bronze
COMMENT 'change events of the customer directory, as delivered'
TBLPROPERTIES ('quality' = 'bronze')
AS SELECT * FROM cloud_files('${source}', 'json', map('cloudFiles.inferColumnTypes', 'true'));
