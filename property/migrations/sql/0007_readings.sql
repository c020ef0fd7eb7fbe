-- The newest reading of each part of the property: what an uplink, a node, a worker was found to be.
-- It is written in the way of the events, so its age is that of the whole way.
CREATE TABLE property.reading (
    kind text NOT NULL,
    name text NOT NULL,
    value jsonb NOT NULL,
    said text NOT NULL,                     -- tells one word of an uplink from the next
    read_at timestamptz NOT NULL,
    PRIMARY KEY (kind, name)
) WITH (fillfactor = 50);

-- What persons have settled where two stories were told of a table, and what gave way: its bytes are
-- evidence, and are never edited.
CREATE TABLE property.settled (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site text NOT NULL,
    "table" text NOT NULL,
    keep bigint NOT NULL,                   -- the archive kept its events up to here
    by text NOT NULL,
    reason text NOT NULL,
    goes_on_as text,                        -- the log's new origin, which names the old
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE property.given_way (
    settled bigint NOT NULL,                -- the record in property.settled
    seen_in text NOT NULL CHECK (seen_in IN ('archive', 'hub')),
    position bigint NOT NULL,
    hash bytea NOT NULL,
    bytes bytea NOT NULL
);
CREATE INDEX given_way_settled ON property.given_way (settled);
CREATE TRIGGER given_way_sealed BEFORE UPDATE OR DELETE ON property.given_way
    FOR EACH ROW EXECUTE FUNCTION property.event_is_never_edited();
CREATE TRIGGER given_way_not_emptied BEFORE TRUNCATE ON property.given_way
    FOR EACH STATEMENT EXECUTE FUNCTION property.event_is_never_edited();
