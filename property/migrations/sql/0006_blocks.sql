-- The archive in blocks: stored bytes compressed, and beside them narrow rows of what is asked. The
-- rows follow from the bytes (`baccarat property rebuild` makes them again); `property.event`, as it
-- was before, is read into them by the first worker and then dropped.
DROP VIEW property.live, property.table_alarm, property.commission, property.commission_step,
    property.win, property.booked, property.dealt, property.patron_coup, property.settlement,
    property.coup CASCADE;
DROP FUNCTION property.two_tables, property.repeated_runs, property.cards, property.make_month;
DROP FUNCTION IF EXISTS property.find_coups;
ALTER TABLE property.event RENAME TO event_before;
ALTER TABLE property.head ADD id integer GENERATED ALWAYS AS IDENTITY UNIQUE;

-- What stands at each table, as a document (`property.archive.folding.ArchivedState`).
CREATE TABLE property.state (
    table_id integer PRIMARY KEY,
    document jsonb NOT NULL,
    -- The same before the first event that is kept, where older ones were removed.
    anchor jsonb,
    shown bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- The newest events of each table, until there are enough of them for a block.
CREATE TABLE property.tail (
    table_id integer NOT NULL,
    position bigint NOT NULL,
    hash bytea NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (table_id, position)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);

-- All other events: `content` is compressed, `before` and `hash` are the chain's before and after it.
CREATE TABLE property.block (
    table_id integer NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    before bytea NOT NULL,
    hash bytea NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (table_id, first)
);
ALTER TABLE property.block ALTER content SET STORAGE EXTERNAL;

-- A command that moves or removes events says so in its transaction: `property.moving`.
CREATE OR REPLACE FUNCTION property.event_is_never_edited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('property.moving', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'an event is never edited';
END $$;
CREATE TRIGGER block_sealed BEFORE UPDATE OR DELETE ON property.block
    FOR EACH ROW EXECUTE FUNCTION property.event_is_never_edited();
CREATE TRIGGER block_not_emptied BEFORE TRUNCATE ON property.block
    FOR EACH STATEMENT EXECUTE FUNCTION property.event_is_never_edited();
CREATE TRIGGER tail_sealed BEFORE UPDATE OR DELETE ON property.tail
    FOR EACH ROW EXECUTE FUNCTION property.event_is_never_edited();
CREATE TRIGGER tail_not_emptied BEFORE TRUNCATE ON property.tail
    FOR EACH STATEMENT EXECUTE FUNCTION property.event_is_never_edited();

-- The wagers of each table's coup in progress that have a patron.
CREATE TABLE property.wager (
    table_id integer NOT NULL,
    wager text NOT NULL,
    patron text NOT NULL,
    seat integer NOT NULL,
    stake bigint NOT NULL,
    at timestamptz NOT NULL,
    withdrawn boolean NOT NULL,
    PRIMARY KEY (table_id, wager)
);

-- A coup that is over. `patrons`, `laid_at`, `seats` and `staked` are by patron; `laid_at` is null
-- of those who withdrew all.
CREATE TABLE property.coup_row (
    table_id integer NOT NULL,
    position bigint NOT NULL,
    opened_at timestamptz NOT NULL,
    settled_at timestamptz,
    ended_at timestamptz,
    coup text NOT NULL,
    rulebook text NOT NULL,
    winner text,
    player text NOT NULL,
    banker text NOT NULL,
    player_total smallint,
    banker_total smallint,
    revision smallint,
    void boolean NOT NULL,
    dealer text,
    supervisor text,
    patrons text[] NOT NULL,
    laid_at timestamptz[] NOT NULL,
    seats text[] NOT NULL,
    staked bigint[] NOT NULL,
    PRIMARY KEY (table_id, position)
);
CREATE UNIQUE INDEX coup_named ON property.coup_row (table_id, coup);
CREATE INDEX coup_opened ON property.coup_row (opened_at);
CREATE INDEX coup_dealer ON property.coup_row (dealer, opened_at) WHERE dealer IS NOT NULL;
CREATE INDEX coup_void ON property.coup_row (opened_at) WHERE void;
CREATE INDEX coup_ended ON property.coup_row USING brin (ended_at);
CREATE INDEX coup_patron ON property.coup_row USING gin (patrons);

-- A patron in a shoe: from the first wager that lay to the end of the last coup, kept with the coups.
CREATE TABLE property.stay (
    table_id integer NOT NULL,
    shoe text NOT NULL,
    patron text NOT NULL,
    began timestamptz NOT NULL,
    ended timestamptz NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    PRIMARY KEY (table_id, shoe, patron)
);
CREATE INDEX stay_patron ON property.stay (patron, began);
CREATE INDEX stay_ended ON property.stay (ended);
CREATE VIEW property.stays AS
SELECT c.table_id, split_part(c.coup, '/', 1) AS shoe, l.patron, min(l.laid_at) AS began,
    max(c.ended_at) AS ended, min(c.position) AS first, max(c.position) AS last
FROM property.coup_row c CROSS JOIN LATERAL unnest(c.patrons, c.laid_at) AS l (patron, laid_at)
WHERE l.laid_at IS NOT NULL GROUP BY 1, 2, 3;

-- A settlement. The lists are by line, in texts: arrays would take twice the space.
-- Null are `patrons` where nobody is named, `kinds` where all are chips, `commissions` where all are 0.
CREATE TABLE property.settlement_row (
    table_id integer NOT NULL,
    position bigint NOT NULL,
    at timestamptz NOT NULL,
    coup text NOT NULL,
    phase smallint NOT NULL,
    revision smallint NOT NULL,
    reverses smallint,
    rulebook text NOT NULL,
    wagers text NOT NULL,
    seats text NOT NULL,
    bets text NOT NULL,
    patrons text[],
    kinds text,
    results text NOT NULL,
    stakes text NOT NULL,
    winnings text NOT NULL,
    commissions text,
    paids text NOT NULL,
    PRIMARY KEY (table_id, coup, phase, revision)
);
CREATE INDEX settlement_at ON property.settlement_row (at);

-- What each table's shifts came to, by rulebook and bet: kept with the settlements, in the same
-- transaction. `property.recount` makes it again.
CREATE TABLE property.total (
    table_id integer NOT NULL,
    day date NOT NULL,
    shift text NOT NULL,
    rulebook text NOT NULL,
    bet text NOT NULL,
    handle bigint NOT NULL,
    win bigint NOT NULL,
    commission bigint NOT NULL,
    PRIMARY KEY (table_id, day, shift, rulebook, bet)
);
CREATE INDEX total_day ON property.total (day);

CREATE FUNCTION property.lines(s property.settlement_row) RETURNS TABLE (
    wager text, seat integer, bet text, patron text, kind text, result text, stake bigint,
    winnings bigint, commission bigint, paid bigint
) LANGUAGE sql IMMUTABLE ROWS 16 AS $$
    SELECT l.wager, l.seat, l.bet, l.patron, coalesce(l.kind, 'chips'), l.result, l.stake,
        l.winnings, coalesce(l.commission, 0), l.paid
    FROM unnest(
        string_to_array(s.wagers, E'\n'), string_to_array(s.seats, ',')::integer[],
        string_to_array(s.bets, ','), s.patrons, string_to_array(s.kinds, ','),
        string_to_array(s.results, ','), string_to_array(s.stakes, ',')::bigint[],
        string_to_array(s.winnings, ',')::bigint[], string_to_array(s.commissions, ',')::bigint[],
        string_to_array(s.paids, ',')::bigint[]
    ) AS l (wager, seat, bet, patron, kind, result, stake, winnings, commission, paid)
$$;

-- Each settlement as it was booked: a revision takes back what it reverses, when it was made.
CREATE VIEW property.booked_settlement AS
SELECT s.position, s.at, s.phase, s.revision, 1 AS sign, s AS settlement FROM property.settlement_row s
UNION ALL
SELECT s.position, s.at, s.phase, s.revision, -1, was
FROM property.settlement_row s JOIN property.settlement_row was ON was.table_id = s.table_id
    AND was.coup = s.coup AND was.phase = s.phase AND was.revision = s.reverses
WHERE s.reverses IS NOT NULL;

-- Handle has no tokens and no void wagers; a token costs what it wins.
CREATE VIEW property.counted AS
SELECT (b.settlement).table_id, shift.day, shift.shift, (b.settlement).rulebook, l.bet,
    sum(CASE WHEN l.kind <> 'promo' AND l.result <> 'void' THEN b.sign * l.stake ELSE 0 END)::bigint
        AS handle,
    sum(b.sign * (CASE WHEN l.result = 'lose' AND l.kind <> 'promo' THEN l.stake ELSE 0 END
        - l.winnings))::bigint AS win,
    sum(b.sign * l.commission)::bigint AS commission
FROM property.booked_settlement b JOIN property.head h ON h.id = (b.settlement).table_id
CROSS JOIN LATERAL property.shift_at(h.site, b.at) AS shift
CROSS JOIN LATERAL property.lines(b.settlement) AS l
GROUP BY 1, 2, 3, 4, 5;

-- Count a site's totals again, from its settlements.
CREATE FUNCTION property.recount(of_site text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM property.total WHERE table_id IN (SELECT id FROM property.head WHERE site = of_site);
    INSERT INTO property.total SELECT c.* FROM property.counted c
    WHERE c.table_id IN (SELECT id FROM property.head WHERE site = of_site);
$$;

-- Other shifts are other days: the site's totals follow. Writers of events wait for it.
CREATE FUNCTION property.shifts_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM property.recount(site) FROM (SELECT DISTINCT site FROM was) AS of;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM property.recount(site) FROM (SELECT DISTINCT site FROM now) AS of;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER shifts_added AFTER INSERT ON property.shift REFERENCING NEW TABLE AS now
    FOR EACH STATEMENT EXECUTE FUNCTION property.shifts_changed();
CREATE TRIGGER shifts_changed AFTER UPDATE ON property.shift
    REFERENCING OLD TABLE AS was NEW TABLE AS now
    FOR EACH STATEMENT EXECUTE FUNCTION property.shifts_changed();
CREATE TRIGGER shifts_removed AFTER DELETE ON property.shift REFERENCING OLD TABLE AS was
    FOR EACH STATEMENT EXECUTE FUNCTION property.shifts_changed();
