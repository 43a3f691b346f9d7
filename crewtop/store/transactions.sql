-- An instant, and crewtop's transactions that are under way in this database, other than this one. A standby knows of
-- neither: there it is one before which everything has been committed, and told by the primary, for half a minute.
SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_xact_replay_timestamp() - interval '30 s' ELSE now() END AS at,
       ARRAY(SELECT l.virtualtransaction
             FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
             WHERE l.locktype = 'virtualxid' AND l.granted AND a.datname = current_database()
               AND a.application_name LIKE 'crewtop%' AND a.pid <> pg_backend_pid()) AS under_way
