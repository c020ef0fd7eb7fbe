-- When each patron's wagers lay on a table, coup by coup: from the first of them to the coup's
-- first end, or until now. A patron is an opaque reference; those without one are nobody's.
CREATE VIEW property.patron_coup AS
SELECT
    w.site,
    w."table",
    w.month,
    w.coup,
    wager ->> 'patron' AS patron,
    min(w.at) AS laid_at,
    ended.at AS ended_at,
    array_agg(DISTINCT (wager ->> 'seat')::integer ORDER BY (wager ->> 'seat')::integer) AS seats,
    sum((wager ->> 'stake')::bigint)::bigint AS staked
FROM property.event w
CROSS JOIN LATERAL jsonb_array_elements(w.data -> 'wagers') AS wager
LEFT JOIN LATERAL (
    SELECT min(e.at) AS at FROM property.event e
    WHERE e.site = w.site AND e."table" = w."table" AND e.coup = w.coup AND e.month >= w.month
        AND (e.type = 'coup_voided'
            OR e.type = 'coup_settled' AND e.data #>> '{settlement,phase}' = '2')
) AS ended ON true
WHERE w.type = 'wagers_placed' AND wager ? 'patron'
GROUP BY w.site, w."table", w.month, w.coup, wager ->> 'patron', ended.at;

-- The same reference at two tables at once: pairs of coups at different tables whose wagers lay at
-- the same moment.
CREATE FUNCTION property.two_tables(
    since timestamptz DEFAULT '-infinity', until timestamptz DEFAULT 'infinity'
) RETURNS TABLE (
    patron text, site text, "table" text, coup text, other_site text, other_table text,
    other_coup text, since_at timestamptz, until_at timestamptz
) LANGUAGE sql STABLE AS $$
    WITH lay AS MATERIALIZED (
        SELECT p.*, coalesce(p.ended_at, 'infinity') AS gone_at FROM property.patron_coup p
        WHERE p.laid_at < until AND coalesce(p.ended_at, 'infinity') >= since
    )
    SELECT a.patron, a.site, a."table", a.coup, b.site, b."table", b.coup,
        greatest(a.laid_at, b.laid_at), nullif(least(a.gone_at, b.gone_at), 'infinity')
    FROM lay a JOIN lay b ON a.patron = b.patron AND (a.site, a."table") < (b.site, b."table")
        AND a.laid_at < b.gone_at AND b.laid_at < a.gone_at
    ORDER BY 8, 1, 2, 3, 4, 5, 6, 7
$$;
