-- Who may do what: crewtop_viewer looks, crewtop_operator acts, crewtop_worker runs workers and producers.
-- They are groups without a login: CREATE ROLE alice LOGIN PASSWORD '...' IN ROLE crewtop_operator;
-- Can be run again, and has to be after an upgrade. Only the schema's owner changes the schema.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['crewtop_viewer', 'crewtop_operator', 'crewtop_worker'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role);
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA crewtop TO crewtop_viewer;
GRANT SELECT ON ALL TABLES IN SCHEMA crewtop TO crewtop_viewer;
GRANT crewtop_viewer TO crewtop_operator, crewtop_worker;

-- An operator changes tasks, queues, limits and workers, and every change writes counters. What was done by whom is the
-- audit: an operation can be carried on, but not rewritten or deleted.
GRANT INSERT, UPDATE, DELETE ON
    crewtop.tasks, crewtop.task_dependencies, crewtop.runs, crewtop.steps, crewtop.tool_uses, crewtop.llm_calls,
    crewtop.transitions,
    crewtop.queues, crewtop.limits, crewtop.slots
    TO crewtop_operator;
GRANT UPDATE ON crewtop.workers TO crewtop_operator;
GRANT INSERT ON
    crewtop.operations, crewtop.operation_items, crewtop.depth, crewtop.stats, crewtop.model_stats,
    crewtop.repricings, crewtop.repricing_sums
    TO crewtop_operator;
GRANT INSERT ON crewtop.silences TO crewtop_operator;
GRANT UPDATE (until, alert_id) ON crewtop.silences TO crewtop_operator;
GRANT UPDATE (ended_at, worked_at, reached) ON crewtop.repricings TO crewtop_operator;
GRANT UPDATE (calls, unknown, before, after) ON crewtop.repricing_sums TO crewtop_operator;
GRANT UPDATE (state, ended_at, total, done, refused, reached, worked_at) ON crewtop.operations TO crewtop_operator;
GRANT UPDATE (done, outcome, refusal, left_version, before) ON crewtop.operation_items TO crewtop_operator;

-- A worker does all that, claims, keeps the tables small, and takes up operations that were left alone.
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA crewtop TO crewtop_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA crewtop TO crewtop_worker;
REVOKE INSERT, UPDATE, DELETE ON crewtop.settings FROM crewtop_worker;
