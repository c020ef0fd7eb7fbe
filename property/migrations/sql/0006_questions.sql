-- Alarms that stand at a table, by its own log.
CREATE VIEW property.table_alarm AS
SELECT h.site, h."table", a.alarm, a.told ->> 'text' AS text, (a.told ->> 'position')::bigint AS position,
    (a.told ->> 'at')::timestamptz AS at
FROM property.head h JOIN property.state s ON s.table_id = h.id
CROSS JOIN LATERAL jsonb_each(s.document -> 'alarms') AS a (alarm, told);

-- The cards in a hand, as they lie.
CREATE FUNCTION property.cards(hand text) RETURNS text[] LANGUAGE sql IMMUTABLE AS
$$ SELECT coalesce(array_agg(substr(hand, at, 2) ORDER BY at), '{}')
   FROM generate_series(1, length(hand), 2) AS at $$;

-- The wagers of each table's coup in progress, by patron.
CREATE VIEW property.laid AS
SELECT w.table_id, w.patron, min(w.at) FILTER (WHERE NOT w.withdrawn) AS laid_at,
    array_to_string(array_agg(DISTINCT w.seat ORDER BY w.seat) FILTER (WHERE NOT w.withdrawn), ',')
        AS seats,
    coalesce(sum(w.stake) FILTER (WHERE NOT w.withdrawn), 0)::bigint AS staked
FROM property.wager w GROUP BY w.table_id, w.patron;

-- Every coup in the form of a row of `coup_row`, the one in progress among them.
CREATE VIEW property.every_coup AS
SELECT * FROM property.coup_row
UNION ALL
SELECT
    s.table_id,
    (o.coup ->> 'position')::bigint,
    (o.coup ->> 'opened_at')::timestamptz,
    NULL,
    NULL,
    o.coup ->> 'coup',
    o.coup ->> 'rulebook',
    NULL,
    '',
    '',
    NULL,
    NULL,
    NULL,
    false,
    o.coup ->> 'dealer',
    o.coup ->> 'supervisor',
    ARRAY(SELECT patron FROM property.laid l WHERE l.table_id = s.table_id ORDER BY 1),
    ARRAY(SELECT laid_at FROM property.laid l WHERE l.table_id = s.table_id ORDER BY patron),
    ARRAY(SELECT seats FROM property.laid l WHERE l.table_id = s.table_id ORDER BY patron),
    ARRAY(SELECT staked FROM property.laid l WHERE l.table_id = s.table_id ORDER BY patron)
FROM property.state s CROSS JOIN LATERAL (SELECT s.document -> 'open' AS coup) AS o
WHERE s.document ? 'open';

-- Every coup that was begun, as it is on record now. `winner` is null until it is settled.
CREATE VIEW property.coup AS
SELECT
    h.site,
    h."table",
    c.position,
    c.coup,
    split_part(c.coup, '/', 1) AS shoe,
    split_part(c.coup, '/', 2)::integer AS number,
    c.opened_at,
    c.settled_at,
    c.ended_at,
    c.rulebook,
    c.winner,
    property.cards(c.player) AS player,
    property.cards(c.banker) AS banker,
    c.player_total::integer,
    c.banker_total::integer,
    left(c.player, 1) = substr(c.player, 3, 1) AND c.player <> '' AS player_pair,
    left(c.banker, 1) = substr(c.banker, 3, 1) AND c.banker <> '' AS banker_pair,
    c.revision::integer,
    c.void,
    c.dealer,
    c.supervisor,
    c.patrons,
    c.table_id
FROM property.every_coup c JOIN property.head h ON h.id = c.table_id;

-- Each settlement that stands: the newest revision of each phase of each coup.
CREATE VIEW property.settlement AS
SELECT
    h.site,
    h."table",
    s.position,
    s.at,
    s.coup,
    s.phase::integer,
    s.revision::integer,
    concat_ws('/', h."table", s.coup, s.phase, s.revision) AS settlement_id,
    s.rulebook
FROM property.settlement_row s JOIN property.head h ON h.id = s.table_id
WHERE NOT EXISTS (
    SELECT FROM property.settlement_row later
    WHERE later.table_id = s.table_id AND later.coup = s.coup AND later.phase = s.phase
        AND later.revision > s.revision
);

-- What wagers came to, as it was booked: a revision takes back what it reverses, on the day that
-- it was made. Amounts in minor units; `sign` is -1 of what is taken back.
CREATE VIEW property.booked AS
SELECT h.site, h."table", b.position, b.at, (b.settlement).coup, b.phase::integer,
    b.revision::integer, (b.settlement).rulebook, b.sign, l.wager, l.seat, l.bet, l.patron, l.kind,
    l.result, l.stake, l.winnings, l.commission, l.paid
FROM property.booked_settlement b JOIN property.head h ON h.id = (b.settlement).table_id
CROSS JOIN LATERAL property.lines(b.settlement) AS l;

-- Handle, win before commission, commission, and what the house keeps of that handle on average,
-- to the nearest unit: null where the edge of a bet that was wagered on is not known. Tokens have
-- no handle and cost what they win; void wagers are no handle.
CREATE VIEW property.win AS
SELECT
    h.site,
    h."table",
    t.day,
    t.shift,
    sum(t.handle)::bigint AS handle,
    sum(t.win)::bigint AS win,
    sum(t.commission)::bigint AS commission,
    CASE WHEN bool_and(t.handle = 0 OR e.bet IS NOT NULL)
        THEN round(sum(t.handle * coalesce(e.numerator, 0) / coalesce(e.denominator, 1)))::bigint
    END AS theoretical
FROM property.total t JOIN property.head h ON h.id = t.table_id
LEFT JOIN property.edge e USING (rulebook, bet)
GROUP BY h.site, h."table", t.day, t.shift;

-- Commission by table and seat. What stands of a sum that is never let below nothing is the sum,
-- less the lowest that it would have come to.
CREATE VIEW property.commission AS
SELECT
    h.site,
    h."table",
    seat::integer,
    coalesce(d.accrued, 0) AS accrued,
    coalesce(d.reversed, 0) AS reversed,
    coalesce(d.open, 0) - coalesce(d.open_low, 0) AS outstanding,
    coalesce(d.owed, 0) - coalesce(d.owed_low, 0) - coalesce(d.open, 0) + coalesce(d.open_low, 0)
        AS uncollected,
    d.at
FROM property.state s JOIN property.head h ON h.id = s.table_id
CROSS JOIN LATERAL jsonb_each(s.document -> 'debts') AS debts (seat, told)
CROSS JOIN LATERAL jsonb_to_record(debts.told) AS d (
    accrued bigint, reversed bigint, owed bigint, owed_low bigint, open bigint, open_low bigint,
    at timestamptz
);

-- Every table: where it stands, its shoe's link, its newest coups (the newest first), its alarms and
-- its feed's.
CREATE VIEW property.live AS
SELECT
    h.site,
    h."table",
    h.position,
    h.hash,
    h.state AS feed,
    h.at AS last_event_at,
    h.stored_at,
    s.document ->> 'link' AS link,
    (s.document ->> 'link_at')::timestamptz AS link_at,
    s.document ->> 'shoe' AS shoe,
    coalesce(newest.coups, '[]') AS newest,
    ARRAY(
        SELECT jsonb_object_keys(coalesce(s.document -> 'alarms', '{}')) ORDER BY 1
    ) AS alarms,
    ARRAY(
        SELECT f.kind FROM property.feed_alarm f
        WHERE f.site = h.site AND f."table" = h."table" AND f.cleared_at IS NULL ORDER BY 1
    ) AS feed_alarms
FROM property.head h
LEFT JOIN property.state s ON s.table_id = h.id
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object(
        'coup', last.coup, 'winner', last.winner, 'player', property.cards(last.player),
        'banker', property.cards(last.banker), 'at', last.settled_at
    ) ORDER BY last.position DESC) AS coups
    FROM (
        SELECT * FROM property.coup_row c WHERE c.table_id = h.id AND c.settled_at IS NOT NULL
        ORDER BY c.position DESC LIMIT 6
    ) AS last
) AS newest ON true;

-- When each patron's wagers lay on a table, coup by coup: from the first of them that was not
-- withdrawn to the coup's end, or until now. A coup that was never finished ends with the next one
-- or with its shoe. A patron is an opaque reference; those without one are nobody's.
CREATE VIEW property.patron_coup AS
SELECT h.site, h."table", c.coup, lay.patron, lay.laid_at, c.ended_at,
    string_to_array(lay.seats, ',')::integer[] AS seats, lay.staked, c.opened_at
FROM property.every_coup c JOIN property.head h ON h.id = c.table_id
CROSS JOIN LATERAL unnest(c.patrons, c.laid_at, c.seats, c.staked)
    AS lay (patron, laid_at, seats, staked)
WHERE lay.laid_at IS NOT NULL;
