-- Lines of wagers as they were booked, of the newest settlements that are asked for. A correction
-- that books no line takes back lines, so it is one of them.
CREATE OR REPLACE FUNCTION property.find_wagers(
    since timestamptz DEFAULT '-infinity', until timestamptz DEFAULT 'infinity',
    most integer DEFAULT 1000, of_site text DEFAULT NULL, of_table text DEFAULT NULL,
    of_day date DEFAULT NULL
) RETURNS SETOF property.booked LANGUAGE sql STABLE AS $$
    WITH found AS MATERIALIZED (
        SELECT s.* FROM property.settlement_row s JOIN property.head h ON h.id = s.table_id
        WHERE s.at >= since AND s.at < until AND (s.wagers <> '' OR s.reverses IS NOT NULL)
            AND (of_day IS NULL OR s.at BETWEEN of_day - interval '2 days'
                AND of_day + interval '3 days')
            AND (of_day IS NULL OR property.is_on(of_day, h.site, s.at))
            AND (of_site IS NULL OR h.site = of_site)
            AND (of_table IS NULL OR h."table" = of_table)
        ORDER BY s.at DESC, s.table_id, s.position DESC LIMIT most
    ),
    signed AS (
        SELECT f.position, f.at, f.phase, f.revision, 1 AS sign, f.table_id, f.coup, f.revision AS of
        FROM found f
        UNION ALL
        SELECT f.position, f.at, f.phase, f.revision, -1, f.table_id, f.coup, f.reverses
        FROM found f WHERE f.reverses IS NOT NULL
    )
    SELECT h.site, h."table", g.position, g.at, g.coup, g.phase::integer, g.revision::integer,
        s.rulebook, g.sign, l.wager, l.seat, l.bet, l.patron, l.kind, l.result, l.stake, l.winnings,
        l.commission, l.paid
    FROM signed g JOIN property.head h ON h.id = g.table_id
    JOIN property.settlement_row s ON s.table_id = g.table_id AND s.coup = g.coup
        AND s.phase = g.phase AND s.revision = g.of
    CROSS JOIN LATERAL property.lines(s) AS l
    ORDER BY g.at DESC, h.site, h."table", g.position DESC, g.sign, l.wager LIMIT most
$$;
