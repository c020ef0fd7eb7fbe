-- A day or shift that has begun stays begun when the clock goes back over its beginning. Before the
-- change, clocks ran with the offset of a day ago; the first time that showed `local` is `first`.
CREATE FUNCTION property.has_begun(local timestamp, zone text, moment timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT moment AT TIME ZONE zone >= local
        OR first <= moment AND first AT TIME ZONE zone = local
    FROM (SELECT moment - interval '24 hours' AS earlier) AS a,
    LATERAL (SELECT (local - ((earlier AT TIME ZONE zone) - (earlier AT TIME ZONE 'UTC')))
        AT TIME ZONE 'UTC' AS first) AS b
$$;

CREATE OR REPLACE FUNCTION property.shift_at(
    of_site text, moment timestamptz, OUT day date, OUT shift text
) LANGUAGE sql STABLE AS $$
    SELECT coalesce(found.day, (moment AT TIME ZONE 'UTC')::date), coalesce(found.name, '')
    FROM (SELECT) AS always LEFT JOIN LATERAL (
        SELECT of.day, s.name
        FROM property.shift s
        CROSS JOIN (VALUES (-1), (0), (1)) AS days (ago)
        CROSS JOIN LATERAL (SELECT (moment AT TIME ZONE s.zone)::date - ago AS day) AS of
        WHERE s.site = of_site AND property.has_begun(of.day + s.begins, s.zone, moment)
        ORDER BY of.day DESC, s.begins DESC LIMIT 1
    ) AS found ON true
$$;

-- A zone that the database does not know is refused when it is written, not when a day is asked.
-- Rows from before are not looked at: they would stop the migration.
ALTER TABLE property.shift ADD CONSTRAINT zone_is_known
    CHECK (timestamptz '2000-01-01 00:00:00Z' AT TIME ZONE zone IS NOT NULL) NOT VALID;
