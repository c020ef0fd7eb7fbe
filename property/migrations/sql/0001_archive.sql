-- Every event of every table, as it was stored beside it. `bytes` is the truth, `hash` the chain's;
-- the other columns are copies for questions: `at` to the microsecond, `data` as jsonb reads it.
CREATE TABLE property.event (
    site text NOT NULL,
    "table" text NOT NULL,
    position bigint NOT NULL,
    type text NOT NULL,
    version integer NOT NULL,
    at timestamptz NOT NULL,
    actor text NOT NULL,
    bytes bytea NOT NULL,
    data jsonb NOT NULL,
    hash bytea NOT NULL,
    month date NOT NULL,
    coup text GENERATED ALWAYS AS (data ->> 'coup') STORED,
    -- A position comes once: a head only moves on from where it stands, in the same transaction.
    PRIMARY KEY (site, "table", position, month)
) PARTITION BY RANGE (month);

-- What a table's newest state is read from, and what happens once a coup or less often.
CREATE INDEX event_kind ON property.event (site, "table", type, position) WHERE type IN (
    'alarm_cleared', 'alarm_raised', 'betting_opened', 'commission_accrued',
    'commission_collected', 'commission_recovered', 'commission_reversed',
    'commission_uncollected', 'coup_settled', 'dealer_assigned', 'shoe_loaded'
);
CREATE INDEX event_coup ON property.event (site, "table", coup, type, position) WHERE type IN (
    'coup_settled', 'coup_voided', 'hands_corrected', 'wagers_placed'
);
CREATE INDEX event_settlement
    ON property.event (site, "table", (data #>> '{settlement,settlement_id}'))
    WHERE type = 'coup_settled';
CREATE INDEX event_link ON property.event (site, "table", position) WHERE
    type = 'shoe_reported' AND starts_with(data #>> '{source,report,kind}', 'link_');
-- Small, and enough to find a time: events come nearly in the order of their times.
CREATE INDEX event_at ON property.event USING brin (at);

-- Where each table's chain stands in the archive.
CREATE TABLE property.head (
    site text NOT NULL,
    "table" text NOT NULL,
    position bigint NOT NULL,
    hash bytea NOT NULL,
    at timestamptz,                         -- of its newest event
    stored_at timestamptz,                  -- when that was archived
    -- A feed that has a gap is looked for again; one that was stopped waits for a person, who
    -- releases it.
    state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'gap', 'stopped', 'released')),
    PRIMARY KEY (site, "table")
);

-- How far each partition of the hub's stream has been read, when that stream was made, and the hash
-- of the message there: a hub that has another one at this sequence is not the hub that was read.
CREATE TABLE property.feed (
    partition integer PRIMARY KEY,
    sequence bigint NOT NULL,
    hash bytea NOT NULL,
    stream text NOT NULL
);

CREATE TABLE property.feed_alarm (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site text NOT NULL,
    "table" text NOT NULL,
    kind text NOT NULL,
    position bigint NOT NULL,
    reason text NOT NULL,
    raised_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    cleared_at timestamptz,
    cleared_by text
);
CREATE UNIQUE INDEX feed_alarm_standing ON property.feed_alarm (site, "table", kind)
    WHERE cleared_at IS NULL;

-- When a site's shifts begin, on its own clock; the first of a day begins its business day.
CREATE TABLE property.shift (
    site text NOT NULL,
    name text NOT NULL,
    begins time NOT NULL,
    zone text NOT NULL,                     -- such as Australia/Sydney
    PRIMARY KEY (site, begins)
);

-- What the house keeps of a stake on average, as an exact ratio: of each rulebook's bets.
CREATE TABLE property.edge (
    rulebook text NOT NULL,
    bet text NOT NULL,
    numerator numeric NOT NULL,
    denominator numeric NOT NULL CHECK (denominator > 0),
    PRIMARY KEY (rulebook, bet)
);

CREATE FUNCTION property.event_is_never_edited() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'an event is never edited'; END $$;
CREATE TRIGGER event_sealed BEFORE UPDATE OR DELETE ON property.event
    FOR EACH ROW EXECUTE FUNCTION property.event_is_never_edited();
CREATE TRIGGER event_not_emptied BEFORE TRUNCATE ON property.event
    FOR EACH STATEMENT EXECUTE FUNCTION property.event_is_never_edited();

-- A month's events in eight parts by table. Attached when whole: writers of other months go on.
CREATE FUNCTION property.make_month(first date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text := 'event_' || to_char(first, 'YYYY_MM');
BEGIN
    PERFORM pg_advisory_xact_lock(x'6261636d'::int, 0);
    IF to_regclass(format('property.%I', name)) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format(
        'CREATE TABLE property.%I (LIKE property.event INCLUDING GENERATED) '
        'PARTITION BY HASH (site, "table")', name);
    FOR part IN 0..7 LOOP
        EXECUTE format(
            'CREATE TABLE property.%I PARTITION OF property.%I '
            'FOR VALUES WITH (MODULUS 8, REMAINDER %s)', name || '_' || part, name, part);
    END LOOP;
    EXECUTE format(
        'ALTER TABLE property.event ATTACH PARTITION property.%I FOR VALUES FROM (%L) TO (%L)',
        name, first, first + interval '1 month');
END $$;
