-- The last $1 seconds, from the beginning of the minute, or of the hour where they are more than 73 hours: rollups are as
-- fine as that, so that sums over them and over the calls themselves are of the same. At most a year: what is older is
-- one sum, and no window reaches it.
SELECT now() AS at, date_bin(CASE WHEN $1::float8 <= 262800 THEN interval '1 minute' ELSE interval '1 hour' END,
                             now() - make_interval(secs => least($1, 31536000)), 'epoch') AS since
