-- On which business day and in which shift of its site something was. A day begins with its first
-- shift; where a site has named none, it is the day in UTC.
CREATE FUNCTION property.shift_at(of_site text, moment timestamptz, OUT day date, OUT shift text)
LANGUAGE sql STABLE AS $$
    SELECT coalesce(found.day, (moment AT TIME ZONE 'UTC')::date), coalesce(found.name, '')
    FROM (SELECT) AS always LEFT JOIN LATERAL (
        SELECT local.at::date - ago AS day, s.name
        FROM property.shift s
        CROSS JOIN LATERAL (SELECT moment AT TIME ZONE s.zone AS at) AS local
        CROSS JOIN (VALUES (0), (1)) AS days (ago)
        WHERE s.site = of_site AND local.at::date - ago + s.begins <= local.at
        ORDER BY ago, s.begins DESC LIMIT 1
    ) AS found ON true
$$;

-- What wagers came to, as it was booked: a revision takes back what it reverses, on the day that
-- it was made. Amounts in minor units; `sign` is -1 of what is taken back.
CREATE VIEW property.booked AS
SELECT
    s.site,
    s."table",
    s.month,
    s.position,
    s.at,
    s.coup,
    of.settlement ->> 'rulebook' AS rulebook,
    of.sign,
    line ->> 'wager' AS wager,
    (line ->> 'seat')::integer AS seat,
    line ->> 'bet' AS bet,
    line ->> 'patron' AS patron,
    coalesce(line ->> 'kind', 'chips') AS kind,
    line ->> 'result' AS result,
    (line ->> 'stake')::bigint AS stake,
    (line ->> 'winnings')::bigint AS winnings,
    (line ->> 'commission')::bigint AS commission,
    (line ->> 'paid')::bigint AS paid
FROM property.event s
CROSS JOIN LATERAL (
    SELECT s.data -> 'settlement' AS settlement, 1 AS sign
    UNION ALL
    SELECT was.data -> 'settlement', -1 FROM property.event was
    WHERE was.site = s.site AND was."table" = s."table" AND was.type = 'coup_settled'
        AND was.data #>> '{settlement,settlement_id}' = s.data #>> '{settlement,reverses}'
) AS of
CROSS JOIN LATERAL jsonb_array_elements(of.settlement -> 'lines') AS line
WHERE s.type = 'coup_settled';

-- Handle, win before commission, commission, and what the house keeps of that handle on average,
-- to the nearest unit: null where the edge of a bet that was wagered on is not known. Tokens have
-- no handle and cost what they win; void wagers are no handle.
CREATE VIEW property.win AS
WITH by_bet AS (
    SELECT
        b.site, b."table", shift.day, shift.shift, b.rulebook, b.bet,
        sum(b.sign * b.stake) FILTER (WHERE b.kind <> 'promo' AND b.result <> 'void') AS handle,
        sum(b.sign * (CASE WHEN b.result = 'lose' AND b.kind <> 'promo' THEN b.stake ELSE 0 END
            - b.winnings)) AS win,
        sum(b.sign * b.commission) AS commission
    FROM property.booked b CROSS JOIN LATERAL property.shift_at(b.site, b.at) AS shift
    GROUP BY b.site, b."table", shift.day, shift.shift, b.rulebook, b.bet
)
SELECT
    b.site,
    b."table",
    b.day,
    b.shift,
    sum(coalesce(b.handle, 0))::bigint AS handle,
    sum(b.win)::bigint AS win,
    sum(b.commission)::bigint AS commission,
    CASE WHEN bool_and(coalesce(b.handle, 0) = 0 OR e.bet IS NOT NULL)
        THEN round(sum(coalesce(b.handle, 0) * coalesce(e.numerator, 0)
            / coalesce(e.denominator, 1)))::bigint
    END AS theoretical
FROM by_bet b LEFT JOIN property.edge e USING (rulebook, bet)
GROUP BY b.site, b."table", b.day, b.shift;

-- What moves a seat's commission, in the order it happened: `owed` what is due and not taken,
-- `open` the part of it that was not given up. A settlement that is taken back takes off what is
-- still open, then what was given up, and never more: what was taken goes back to the patron.
CREATE VIEW property.commission_step AS
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
        WHEN 'commission_reversed'
            THEN CASE WHEN c.data ->> 'timing' IN ('deduct', 'prepaid') THEN 0 ELSE -amount END
        ELSE -amount
    END AS owed,
    CASE c.type
        WHEN 'commission_accrued' THEN amount
        WHEN 'commission_recovered' THEN 0
        WHEN 'commission_reversed'
            THEN CASE WHEN c.data ->> 'timing' IN ('deduct', 'prepaid') THEN 0 ELSE -amount END
        ELSE -amount
    END AS open
FROM property.event c
CROSS JOIN LATERAL jsonb_array_elements(c.data -> 'amounts') AS each
CROSS JOIN LATERAL (SELECT (each ->> 'amount')::bigint AS amount) AS of
WHERE c.type IN (
    'commission_accrued', 'commission_collected', 'commission_recovered', 'commission_reversed',
    'commission_uncollected'
);

-- Commission by table and seat. What stands of a sum that is never let below nothing is the sum,
-- less the lowest that it would have come to.
CREATE VIEW property.commission AS
WITH run AS (
    SELECT
        site, "table", seat, position, at, type, amount,
        sum(owed) OVER so_far AS owed,
        sum(open) OVER so_far AS open
    FROM property.commission_step
    WINDOW so_far AS (PARTITION BY site, "table", seat ORDER BY position)
),
last AS (
    SELECT
        site, "table", seat,
        sum(amount) FILTER (WHERE type = 'commission_accrued') AS accrued,
        sum(amount) FILTER (WHERE type = 'commission_reversed') AS reversed,
        (array_agg(owed ORDER BY position DESC))[1] - least(min(owed), 0) AS owed,
        (array_agg(open ORDER BY position DESC))[1] - least(min(open), 0) AS open,
        max(at) AS at
    FROM run GROUP BY site, "table", seat
)
SELECT
    site,
    "table",
    seat,
    coalesce(accrued, 0)::bigint AS accrued,
    coalesce(reversed, 0)::bigint AS reversed,
    open::bigint AS outstanding,
    (owed - open)::bigint AS uncollected,
    at
FROM last;
