-- Each settlement that stands: the newest revision of each phase of each coup.
CREATE VIEW property.settlement AS
SELECT
    s.site,
    s."table",
    s.month,
    s.position,
    s.at,
    s.coup,
    (s.data #>> '{settlement,phase}')::integer AS phase,
    (s.data #>> '{settlement,revision}')::integer AS revision,
    s.data #>> '{settlement,settlement_id}' AS settlement_id,
    s.data -> 'settlement' AS settlement
FROM property.event s
WHERE s.type = 'coup_settled' AND NOT EXISTS (
    SELECT FROM property.event later
    WHERE later.site = s.site AND later."table" = s."table" AND later.coup = s.coup
        AND later.type = 'coup_settled' AND later.position > s.position
        AND later.month >= s.month
        AND later.data #>> '{settlement,phase}' = s.data #>> '{settlement,phase}'
);

-- The cards in a hand, as they lie.
CREATE FUNCTION property.cards(hand jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS
$$ SELECT coalesce(array_agg(card ORDER BY place), '{}')
   FROM jsonb_array_elements_text(coalesce(hand, '[]')) WITH ORDINALITY AS of (card, place) $$;

-- Every coup that was begun, as it is on record now. `winner` is null until it is settled.
CREATE VIEW property.coup AS
SELECT
    begun.site,
    begun."table",
    begun.month,
    begun.position,
    begun.coup,
    split_part(begun.coup, '/', 1) AS shoe,
    split_part(begun.coup, '/', 2)::integer AS number,
    begun.at AS opened_at,
    settled.at AS settled_at,
    coalesce(settled.settlement ->> 'rulebook', begun.data ->> 'rulebook') AS rulebook,
    settled.settlement ->> 'winner' AS winner,
    property.cards(settled.settlement -> 'player') AS player,
    property.cards(settled.settlement -> 'banker') AS banker,
    (settled.settlement ->> 'player_total')::integer AS player_total,
    (settled.settlement ->> 'banker_total')::integer AS banker_total,
    left(settled.settlement #>> '{player,0}', 1) = left(settled.settlement #>> '{player,1}', 1)
        AS player_pair,
    left(settled.settlement #>> '{banker,0}', 1) = left(settled.settlement #>> '{banker,1}', 1)
        AS banker_pair,
    (settled.settlement ->> 'revision')::integer AS revision,
    coalesce(void.position > coalesce(counts.position, 0), false) AS void,
    staff.dealer,
    staff.supervisor,
    coalesce(laid.patrons, '{}') AS patrons
FROM property.event begun
LEFT JOIN LATERAL (
    SELECT s.at, s.data -> 'settlement' AS settlement
    FROM property.event s
    WHERE s.site = begun.site AND s."table" = begun."table" AND s.coup = begun.coup
        AND s.type = 'coup_settled' AND s.month >= begun.month
        AND s.data #>> '{settlement,phase}' = '2'
    ORDER BY s.position DESC LIMIT 1
) settled ON true
LEFT JOIN LATERAL (
    SELECT max(v.position) AS position
    FROM property.event v
    WHERE v.site = begun.site AND v."table" = begun."table" AND v.coup = begun.coup
        AND v.type = 'coup_voided' AND v.month >= begun.month
) void ON true
LEFT JOIN LATERAL (
    SELECT max(h.position) AS position
    FROM property.event h
    WHERE h.site = begun.site AND h."table" = begun."table" AND h.coup = begun.coup
        AND h.type = 'hands_corrected' AND h.month >= begun.month
        AND (h.data ->> 'counts_again')::boolean
) counts ON true
LEFT JOIN LATERAL (
    SELECT d.data ->> 'dealer' AS dealer, d.data ->> 'supervisor' AS supervisor
    FROM property.event d
    WHERE d.site = begun.site AND d."table" = begun."table" AND d.type = 'dealer_assigned'
        AND d.position < begun.position
    ORDER BY d.position DESC LIMIT 1
) staff ON true
LEFT JOIN LATERAL (
    SELECT array_agg(DISTINCT wager ->> 'patron' ORDER BY wager ->> 'patron') AS patrons
    FROM property.event w CROSS JOIN LATERAL jsonb_array_elements(w.data -> 'wagers') AS wager
    WHERE w.site = begun.site AND w."table" = begun."table" AND w.coup = begun.coup
        AND w.type = 'wagers_placed' AND w.month >= begun.month AND wager ? 'patron'
) laid ON true
WHERE begun.type = 'betting_opened';

-- Coups that have all that is asked for; what is null is not asked for.
CREATE FUNCTION property.find_coups(
    card text DEFAULT NULL, result text DEFAULT NULL, dealer_ref text DEFAULT NULL,
    patron_ref text DEFAULT NULL, since timestamptz DEFAULT '-infinity',
    until timestamptz DEFAULT 'infinity', most integer DEFAULT 1000
) RETURNS SETOF property.coup LANGUAGE sql STABLE AS $$
    SELECT c.* FROM property.coup c
    WHERE c.opened_at >= since AND c.opened_at < until
        AND (card IS NULL OR card = ANY (c.player || c.banker))
        AND (result IS NULL OR CASE WHEN c.void THEN 'void' ELSE c.winner END = result)
        AND (dealer_ref IS NULL OR c.dealer = dealer_ref)
        AND (patron_ref IS NULL OR patron_ref = ANY (c.patrons))
    ORDER BY c.opened_at DESC, c.site, c."table", c.position DESC LIMIT most
$$;
