-- SPDX-License-Identifier: MIT
-- What the demo records: a table of 100,000 rows is built, indexed and queried.
PRAGMA journal_mode = DELETE;
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER, note TEXT);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO orders SELECT i, (i * 7919) % 1000, (i * 104729) % 50000,
	'order number ' || i FROM n;
COMMIT;
CREATE INDEX orders_customer ON orders (customer);
SELECT count(*), sum(cents) FROM orders;
SELECT customer, sum(cents) AS total FROM orders GROUP BY customer
	ORDER BY total DESC LIMIT 3;
DELETE FROM orders WHERE customer < 10;
SELECT count(*) FROM orders;
