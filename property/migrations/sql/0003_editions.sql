-- What the tables' coups are judged by and their shoes' bytes were read by: events cite an edition by
-- its hash, and this is the file. Its text is its bytes: an edition is UTF-8.
CREATE TABLE property.edition (
    hash text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('rulebook', 'profile')),
    name text NOT NULL,
    source bytea NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (hash, kind),
    CHECK (hash = encode(sha256(source), 'hex'))
);

CREATE FUNCTION property.edition_is_never_edited() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'an edition is never edited'; END $$;
CREATE TRIGGER edition_sealed BEFORE UPDATE OR DELETE ON property.edition
    FOR EACH ROW EXECUTE FUNCTION property.edition_is_never_edited();
