-- Price the calls of the last $1 seconds again, on $2's word: those to model $3, or to any (NULL).
INSERT INTO crewtop.repricings (actor, model, since, reached)
SELECT $2, $3, w.since, w.since - interval '1 microsecond'
FROM (SELECT date_bin(CASE WHEN $1::float8 <= 262800 THEN interval '1 minute' ELSE interval '1 hour' END,
                      now() - make_interval(secs => $1), 'epoch') AS since) AS w
RETURNING id
