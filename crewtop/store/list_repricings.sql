-- The newest $1 repricings (with $2: that one alone), newest first, each with what it changed.
SELECT r.*, (SELECT coalesce(json_agg(json_build_object(
                 'provider', provider, 'model', model, 'old_source', old_source, 'new_source', new_source, 'calls', calls,
                 'unknown', unknown, 'before', before::text, 'after', after::text)
                 ORDER BY provider, model, old_source, new_source), '[]')
             FROM crewtop.repricing_sums WHERE repricing_id = r.id)::text AS sums
FROM crewtop.repricings AS r WHERE $2::bigint IS NULL OR id = $2 ORDER BY id DESC LIMIT $1
