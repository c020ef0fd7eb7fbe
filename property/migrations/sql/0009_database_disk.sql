-- PostgreSQL's machine reports the room on the disk of its data, in bytes: no question tells it.
CREATE FUNCTION property.report_disk(free bigint, used bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO property.reading (kind, name, value, said, read_at)
    VALUES ('disk', 'postgresql',
        jsonb_build_object('free', free::double precision / greatest(free + used, 1)),
        clock_timestamp()::text, clock_timestamp())
    ON CONFLICT (kind, name) DO UPDATE
    SET value = excluded.value, said = excluded.said, read_at = excluded.read_at
$$;
