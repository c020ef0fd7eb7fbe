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
