-- Whether something at a site was on a business day, or no day is asked for.
CREATE FUNCTION property.is_on(asked date, of_site text, moment timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT asked IS NULL OR moment BETWEEN asked - interval '2 days' AND asked + interval '3 days'
        AND (SELECT day FROM property.shift_at(of_site, moment)) = asked
$$;

-- Coups that have all that is asked for, the newest first; what is null is not asked for.
CREATE FUNCTION property.find_coups(
    card text DEFAULT NULL, result text DEFAULT NULL, dealer_ref text DEFAULT NULL,
    patron_ref text DEFAULT NULL, since timestamptz DEFAULT '-infinity',
    until timestamptz DEFAULT 'infinity', most integer DEFAULT 1000, of_site text DEFAULT NULL,
    of_table text DEFAULT NULL, of_day date DEFAULT NULL
) RETURNS SETOF property.coup LANGUAGE sql STABLE AS $$
    WITH found AS MATERIALIZED (
        SELECT e.table_id, e.position FROM property.every_coup e
        JOIN property.head h ON h.id = e.table_id
        WHERE e.opened_at >= since AND e.opened_at < until
            AND (of_day IS NULL OR e.opened_at BETWEEN of_day - interval '2 days'
                AND of_day + interval '3 days')
            AND (of_day IS NULL OR property.is_on(of_day, h.site, e.opened_at))
            AND (card IS NULL OR strpos(e.player, card) > 0 OR strpos(e.banker, card) > 0)
            AND (result IS NULL OR CASE WHEN result = 'void' THEN e.void
                ELSE e.winner = result AND NOT e.void END)
            AND (dealer_ref IS NULL OR e.dealer = dealer_ref)
            AND (patron_ref IS NULL OR e.patrons @> ARRAY[patron_ref])
            AND (of_site IS NULL OR h.site = of_site)
            AND (of_table IS NULL OR h."table" = of_table)
        ORDER BY e.opened_at DESC, e.table_id, e.position DESC LIMIT most
    )
    SELECT c.* FROM found f JOIN property.coup c USING (table_id, position)
    ORDER BY c.opened_at DESC, c.site, c."table", c.position DESC
$$;

-- Lines of wagers as they were booked, of the newest settlements that are asked for.
CREATE FUNCTION property.find_wagers(
    since timestamptz DEFAULT '-infinity', until timestamptz DEFAULT 'infinity',
    most integer DEFAULT 1000, of_site text DEFAULT NULL, of_table text DEFAULT NULL,
    of_day date DEFAULT NULL
) RETURNS SETOF property.booked LANGUAGE sql STABLE AS $$
    WITH found AS MATERIALIZED (
        SELECT s.* FROM property.settlement_row s JOIN property.head h ON h.id = s.table_id
        WHERE s.at >= since AND s.at < until AND s.wagers <> ''
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

-- The same reference at two tables at once: pairs of coups at different tables whose wagers lay at
-- the same moment. First the shoes in which a patron played at overlapping times, then their coups.
CREATE FUNCTION property.two_tables(
    since timestamptz DEFAULT '-infinity', until timestamptz DEFAULT 'infinity',
    of_site text DEFAULT NULL, of_table text DEFAULT NULL, of_day date DEFAULT NULL
) RETURNS TABLE (
    patron text, site text, "table" text, coup text, other_site text, other_table text,
    other_coup text, since_at timestamptz, until_at timestamptz
) LANGUAGE sql STABLE AS $$
    WITH played AS MATERIALIZED (
        SELECT s.table_id, s.patron, s.began, s.ended, s.first, s.last FROM property.stay s
        WHERE s.ended >= since AND s.began < until AND (of_day IS NULL
            OR s.ended >= of_day - interval '2 days' AND s.began < of_day + interval '3 days')
        UNION ALL
        SELECT l.table_id, l.patron, l.laid_at, 'infinity', NULL, NULL FROM property.laid l
        WHERE l.laid_at IS NOT NULL
    ),
    pair AS MATERIALIZED (
        SELECT row_number() OVER () AS number, a.patron, a.table_id AS one, a.first AS one_first,
            a.last AS one_last, b.table_id AS two, b.first AS two_first, b.last AS two_last
        FROM played a JOIN played b ON b.patron = a.patron AND b.table_id > a.table_id
            AND a.began < b.ended AND b.began < a.ended
    ),
    side AS (
        SELECT number, patron, one AS table_id, one_first AS first, one_last AS last FROM pair
        UNION ALL SELECT number, patron, two, two_first, two_last FROM pair
    ),
    lay AS MATERIALIZED (
        SELECT d.number, d.patron, d.table_id, c.coup, l.laid_at, c.ended_at
        FROM side d JOIN property.coup_row c ON c.table_id = d.table_id
            AND c.position BETWEEN d.first AND d.last
        CROSS JOIN LATERAL unnest(c.patrons, c.laid_at) AS l (patron, laid_at)
        WHERE l.patron = d.patron AND l.laid_at IS NOT NULL
        UNION ALL
        SELECT d.number, d.patron, d.table_id, s.document #>> '{open,coup}', l.laid_at, NULL
        FROM side d JOIN property.laid l USING (table_id, patron)
        JOIN property.state s USING (table_id) WHERE d.first IS NULL
    )
    SELECT a.patron, a.site, a."table", a.coup, b.site, b."table", b.coup,
        greatest(a.laid_at, b.laid_at), least(a.ended_at, b.ended_at)
    FROM (SELECT * FROM lay JOIN property.head h ON h.id = lay.table_id) a
    JOIN (SELECT * FROM lay JOIN property.head h ON h.id = lay.table_id) b ON b.number = a.number
        AND (a.site, a."table") < (b.site, b."table")
        AND a.laid_at < coalesce(b.ended_at, 'infinity')
        AND b.laid_at < coalesce(a.ended_at, 'infinity')
    WHERE greatest(a.laid_at, b.laid_at) < until
        AND coalesce(least(a.ended_at, b.ended_at), 'infinity') >= since
        AND (of_site IS NULL OR (a.site, a."table") = (of_site, of_table)
            OR (b.site, b."table") = (of_site, of_table))
        AND (of_day IS NULL OR property.is_on(of_day, a.site, greatest(a.laid_at, b.laid_at)))
    ORDER BY 8, 1, 2, 3, 4, 5, 6, 7
$$;

-- The cards of a coup in the order they were dealt: Player's first, Banker's first, the seconds,
-- Player's third, Banker's third. Burned cards are known to nobody.
CREATE FUNCTION property.in_order(player text, banker text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT substr(player, 1, 2) || substr(banker, 1, 2) || substr(player, 3, 2)
    || substr(banker, 3, 2) || substr(player, 5, 2) || substr(banker, 5, 2) $$;

CREATE VIEW property.dealt AS
SELECT c.site, c."table", c.shoe, c.coup, c.number, c.opened_at,
    row_number() OVER (PARTITION BY c.site, c."table", c.shoe ORDER BY c.position, of.place) AS place,
    of.card
FROM property.coup c
CROSS JOIN LATERAL unnest(property.cards(property.in_order(
    array_to_string(c.player, ''), array_to_string(c.banker, '')
))) WITH ORDINALITY AS of (card, place);

-- Runs of k cards that came more than once, in whatever shoes of whatever tables: a row for each
-- time. Honest shuffles share short ones: of 52 to the power of k there are so many. A run counts
-- that begins in a coup of the time that is asked for.
CREATE FUNCTION property.repeated_runs(
    k integer, since timestamptz DEFAULT '-infinity', until timestamptz DEFAULT 'infinity',
    of_site text DEFAULT NULL, of_table text DEFAULT NULL, of_day date DEFAULT NULL
) RETURNS TABLE (
    run text, times bigint, site text, "table" text, shoe text, coup text, place bigint
) LANGUAGE sql STABLE AS $$
    WITH asked AS (
        SELECT c.table_id, split_part(c.coup, '/', 1) AS shoe, min(c.position) AS low,
            max(c.position) AS high
        FROM property.coup_row c JOIN property.head h ON h.id = c.table_id
        WHERE c.opened_at >= since AND c.opened_at < until AND c.player <> ''
            AND (of_day IS NULL OR c.opened_at BETWEEN of_day - interval '2 days'
                AND of_day + interval '3 days')
            AND (of_day IS NULL OR property.is_on(of_day, h.site, c.opened_at))
            AND (of_site IS NULL OR h.site = of_site)
            AND (of_table IS NULL OR h."table" = of_table)
        GROUP BY 1, 2
    ),
    dealt AS (
        SELECT a.table_id, a.shoe, a.low, c.position, c.coup, of.cards,
            1 + coalesce(sum(length(of.cards) / 2) OVER (
                PARTITION BY a.table_id, a.shoe ORDER BY c.position
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0)::integer AS begins
        FROM asked a
        LEFT JOIN property.coup_row one ON one.table_id = a.table_id AND one.coup = a.shoe || '/1'
        JOIN property.coup_row c ON c.table_id = a.table_id
            AND c.position BETWEEN least(one.position, a.low) AND a.high
            AND split_part(c.coup, '/', 1) = a.shoe AND c.player <> ''
        CROSS JOIN LATERAL (SELECT property.in_order(c.player, c.banker) AS cards) AS of
    ),
    shoe AS MATERIALIZED (
        SELECT table_id, shoe, string_agg(cards, '' ORDER BY position) AS cards,
            array_agg(coup ORDER BY position) AS coups,
            array_agg(begins ORDER BY position) AS places,
            min(begins) FILTER (WHERE position >= low) AS first
        FROM dealt GROUP BY table_id, shoe
    ),
    place AS MATERIALIZED (
        SELECT s.table_id, s.shoe, at, hashtextextended(substr(s.cards, 2 * at - 1, 2 * k), 0) AS key
        FROM shoe s, generate_series(s.first, length(s.cards) / 2 - k + 1) AS at
    ),
    again AS (SELECT key FROM place GROUP BY key HAVING count(*) > 1),
    found AS (
        SELECT substr(s.cards, 2 * p.at - 1, 2 * k) AS run, p.table_id, p.shoe, p.at,
            s.coups[width_bucket(p.at, s.places)] AS coup
        FROM again JOIN place p USING (key) JOIN shoe s USING (table_id, shoe)
    ),
    counted AS (SELECT f.*, count(*) OVER (PARTITION BY f.run) AS times FROM found f)
    SELECT array_to_string(property.cards(f.run), ' '), f.times, h.site, h."table", f.shoe, f.coup,
        f.at::bigint
    FROM counted f JOIN property.head h ON h.id = f.table_id
    WHERE f.times > 1 ORDER BY 1, 3, 4, 5, 7
$$;
