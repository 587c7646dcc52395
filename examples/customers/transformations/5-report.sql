-- A materialized view: brought up to date by every update.
CREATE OR REFRESH MATERIALIZED VIEW customers_by_city
COMMENT 'how many customers live where, and how many were ever heard of there'
AS SELECT h.city,
          count(DISTINCT CASE WHEN h.__END_AT IS NULL THEN h.id END) AS customers,
          count(DISTINCT h.id) AS ever_customers,
          count(*) AS states
FROM customers_history h
GROUP BY h.city;
