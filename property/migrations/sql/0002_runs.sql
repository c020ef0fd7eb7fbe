-- The cards of settled coups in the order they were dealt, shoe by shoe: Player's first, Banker's
-- first, the seconds, Player's third, Banker's third. Burned cards are known to nobody.
CREATE VIEW property.dealt AS
SELECT
    c.site,
    c."table",
    c.month,
    c.shoe,
    c.coup,
    c.number,
    c.opened_at,
    row_number() OVER (
        PARTITION BY c.site, c."table", c.shoe ORDER BY c.position, of.place
    ) AS place,
    of.card
FROM property.coup c
CROSS JOIN LATERAL (VALUES
    (1, c.player[1]), (2, c.banker[1]), (3, c.player[2]), (4, c.banker[2]),
    (5, c.player[3]), (6, c.banker[3])
) AS of (place, card)
WHERE of.card IS NOT NULL;

-- Runs of k cards that came more than once, in whatever shoes of whatever tables: a row for each
-- time. Honest shuffles share short ones: of 52 to the power of k there are so many.
CREATE FUNCTION property.repeated_runs(
    k integer, since timestamptz DEFAULT '-infinity', until timestamptz DEFAULT 'infinity'
) RETURNS TABLE (
    run text, times bigint, site text, "table" text, shoe text, coup text, place bigint
) LANGUAGE sql STABLE AS $$
    WITH runs AS (
        SELECT d.site, d."table", d.shoe, d.coup, d.place,
            string_agg(d.card, ' ') OVER (
                PARTITION BY d.site, d."table", d.shoe ORDER BY d.place
                ROWS BETWEEN CURRENT ROW AND k - 1 FOLLOWING
            ) AS run,
            count(*) OVER (
                PARTITION BY d.site, d."table", d.shoe ORDER BY d.place
                ROWS BETWEEN CURRENT ROW AND k - 1 FOLLOWING
            ) AS length
        FROM property.dealt d WHERE d.opened_at >= since AND d.opened_at < until
    ),
    again AS (
        SELECT r.*, count(*) OVER (PARTITION BY r.run) AS times FROM runs r WHERE r.length = k
    )
    SELECT a.run, a.times, a.site, a."table", a.shoe, a.coup, a.place
    FROM again a WHERE a.times > 1 ORDER BY a.run, a.site, a."table", a.shoe, a.place
$$;
