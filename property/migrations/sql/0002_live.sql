-- Alarms that stand at a table, by its own log.
CREATE VIEW property.table_alarm AS
SELECT h.site, h."table", newest.alarm, newest.text, newest.position, newest.at
FROM property.head h CROSS JOIN LATERAL (
    SELECT DISTINCT ON (e.data ->> 'alarm')
        e.data ->> 'alarm' AS alarm, e.data ->> 'text' AS text, e.position, e.at, e.type
    FROM property.event e
    WHERE e.site = h.site AND e."table" = h."table" AND e.type IN ('alarm_cleared', 'alarm_raised')
    ORDER BY e.data ->> 'alarm', e.position DESC
) AS newest
WHERE newest.type = 'alarm_raised';

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
    link.kind AS link,
    link.at AS link_at,
    shoe.shoe,
    coalesce(newest.coups, '[]') AS newest,
    coalesce(alarms.alarms, '{}') AS alarms,
    coalesce(feed_alarms.alarms, '{}') AS feed_alarms
FROM property.head h
LEFT JOIN LATERAL (
    SELECT substr(e.data #>> '{source,report,kind}', 6) AS kind, e.at FROM property.event e
    WHERE e.site = h.site AND e."table" = h."table" AND e.type = 'shoe_reported'
        AND starts_with(e.data #>> '{source,report,kind}', 'link_')
    ORDER BY e.position DESC LIMIT 1
) AS link ON true
LEFT JOIN LATERAL (
    SELECT e.data ->> 'shoe' AS shoe FROM property.event e
    WHERE e.site = h.site AND e."table" = h."table" AND e.type = 'shoe_loaded'
    ORDER BY e.position DESC LIMIT 1
) AS shoe ON true
LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object(
        'coup', last.coup, 'winner', last.settlement ->> 'winner',
        'player', last.settlement -> 'player', 'banker', last.settlement -> 'banker',
        'at', last.at
    ) ORDER BY last.position DESC) AS coups
    FROM (
        SELECT e.coup, e.data -> 'settlement' AS settlement, e.at, e.position
        FROM property.event e
        WHERE e.site = h.site AND e."table" = h."table" AND e.type = 'coup_settled'
            AND e.data #>> '{settlement,phase}' = '2'
        ORDER BY e.position DESC LIMIT 6
    ) AS last
) AS newest ON true
LEFT JOIN LATERAL (
    SELECT array_agg(a.alarm ORDER BY a.alarm) AS alarms FROM property.table_alarm a
    WHERE a.site = h.site AND a."table" = h."table"
) AS alarms ON true
LEFT JOIN LATERAL (
    SELECT array_agg(f.kind ORDER BY f.kind) AS alarms FROM property.feed_alarm f
    WHERE f.site = h.site AND f."table" = h."table" AND f.cleared_at IS NULL
) AS feed_alarms ON true;
