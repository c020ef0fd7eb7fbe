-- As before, for events of version 1, which have no currency. Since version 2 a reversal says what of
-- it was still owed and what was given up; the rest had been taken and changes nothing here.
CREATE OR REPLACE VIEW property.commission_step AS
SELECT
    c.site,
    c."table",
    c.position,
    c.at,
    (each ->> 'seat')::integer AS seat,
    c.type,
    amount,
    CASE c.type
        WHEN 'commission_accrued' THEN amount
        WHEN 'commission_uncollected' THEN 0
        WHEN 'commission_reversed' THEN CASE
            WHEN c.data ? 'currency' THEN -outstanding - uncollected
            WHEN c.data ->> 'timing' IN ('deduct', 'prepaid') THEN 0
            ELSE -amount
        END
        ELSE -amount
    END AS owed,
    CASE c.type
        WHEN 'commission_accrued' THEN amount
        WHEN 'commission_recovered' THEN 0
        WHEN 'commission_reversed' THEN CASE
            WHEN c.data ? 'currency' THEN -outstanding
            WHEN c.data ->> 'timing' IN ('deduct', 'prepaid') THEN 0
            ELSE -amount
        END
        ELSE -amount
    END AS open
FROM property.event c
CROSS JOIN LATERAL jsonb_array_elements(c.data -> 'amounts') AS each
CROSS JOIN LATERAL (
    SELECT
        (each ->> 'amount')::bigint AS amount,
        coalesce((each ->> 'outstanding')::bigint, 0) AS outstanding,
        coalesce((each ->> 'uncollected')::bigint, 0) AS uncollected
) AS of
WHERE c.type IN (
    'commission_accrued', 'commission_collected', 'commission_recovered', 'commission_reversed',
    'commission_uncollected'
);
