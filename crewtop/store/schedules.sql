-- Schedules named $1 as they stand, each with the time by the only clock; those that are not there yet with NULLs.
SELECT clock_timestamp() AS at, n.name, s.definition::text AS definition, s.next_at, s.seen_at
FROM unnest($1::text[]) AS n (name)
LEFT JOIN crewtop.schedules AS s USING (name)
