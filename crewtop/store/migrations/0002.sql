-- From version 1 to 2: limits, keys, dependencies, operations over many tasks, schedules, and no foreign keys on tasks.
-- Rows that a task and its history had twice are given up; what version 1 did not know is written as unknown.

-- Queues and their limits

ALTER TABLE crewtop.queues ADD COLUMN boost_seconds double precision CHECK (boost_seconds >= 1);
COMMENT ON COLUMN crewtop.queues.boost_seconds IS
    'A task rises by one priority for each time that it has waited so long, so that P4 is not starved; NULL: never.';

CREATE TABLE crewtop.limits (
    scope           text NOT NULL CHECK (scope IN ('queue', 'crew')),
    name            text NOT NULL,
    max_running     integer CHECK (max_running BETWEEN 0 AND 10000),
    rate_per_minute double precision CHECK (rate_per_minute > 0 AND rate_per_minute < 'Infinity'),
    tokens          double precision NOT NULL DEFAULT 0,
    refilled_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (scope, name),
    CHECK (max_running IS NOT NULL OR rate_per_minute IS NOT NULL)
) WITH (fillfactor = 50);
COMMENT ON TABLE crewtop.limits IS 'At most so many running at once, and so many starts a minute; NULL: no such limit.';
COMMENT ON COLUMN crewtop.limits.tokens IS 'Starts that were left at refilled_at: a token bucket, refilled by rate_per_minute.';

CREATE TABLE crewtop.slots (
    scope  text NOT NULL,
    name   text NOT NULL,
    n      integer NOT NULL CHECK (n > 0),
    run_id bigint,
    PRIMARY KEY (scope, name, n),
    FOREIGN KEY (scope, name) REFERENCES crewtop.limits ON DELETE CASCADE
) WITH (fillfactor = 50);
COMMENT ON TABLE crewtop.slots IS
    'One row a place of a max_running limit: whoever has locked a free one may start a task. Exact where a count would race.';
CREATE INDEX slots_taken ON crewtop.slots (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE crewtop.throttles (
    crew     text PRIMARY KEY,
    provider text NOT NULL,
    since    timestamptz NOT NULL DEFAULT now(),
    until    timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE crewtop.throttles IS 'Crews whose provider said 429: nothing of theirs is claimed until it said that they may come again.';

-- History: the enqueue is the task itself, and from now on a run is the record of its own start and end

ALTER TABLE crewtop.task_history RENAME TO transitions;
ALTER TABLE crewtop.transitions RENAME CONSTRAINT task_history_pkey TO transitions_pkey;
ALTER TABLE crewtop.transitions DROP CONSTRAINT task_history_task_id_fkey;
DELETE FROM crewtop.transitions WHERE version = 1;
ALTER TABLE crewtop.transitions ALTER COLUMN old_status SET NOT NULL, ADD CHECK (version > 1);
COMMENT ON TABLE crewtop.transitions IS 'What changed a task otherwise than its run did: operators, rescuers, the end of a dependency.';

-- Runs, steps and calls

ALTER TABLE crewtop.steps DROP CONSTRAINT steps_run_id_fkey, ADD COLUMN receipt json, ADD COLUMN resumed_from bigint;
COMMENT ON COLUMN crewtop.steps.receipt IS 'With it and its output, a later run need not do the step again; NULL: it has to.';
COMMENT ON COLUMN crewtop.steps.resumed_from IS 'The run that did this step, and has its output: this one was kept from it.';

ALTER TABLE crewtop.llm_calls DROP CONSTRAINT llm_calls_run_id_fkey;

DROP INDEX crewtop.runs_by_task;
ALTER TABLE crewtop.runs
    DROP CONSTRAINT runs_task_id_fkey,
    DROP CONSTRAINT runs_pkey,
    DROP CONSTRAINT runs_outcome_check,
    ADD PRIMARY KEY (task_id, id),
    ADD CONSTRAINT runs_outcome_check CHECK (outcome IN
        ('running', 'completed', 'failed', 'over_budget', 'crashed', 'throttled',
         'interrupted', 'returned', 'cancelled', 'lost', 'superseded', 'stalled')),
    ADD COLUMN claimed_version integer,
    ADD COLUMN old_status text,
    ADD COLUMN ended_version integer,
    ADD COLUMN new_status text;
COMMENT ON TABLE crewtop.runs IS 'One row an attempt at a task by one worker. Its id, unique over all tasks, is the lease token.';
COMMENT ON COLUMN crewtop.runs.claimed_version IS 'The task''s version, and from which status it came, when this run began.';
COMMENT ON COLUMN crewtop.runs.ended_version IS
    'The task''s version, and new_status, as this run''s own end made them; NULL: it runs, or somebody else ended it.';

-- Tasks

ALTER TABLE crewtop.tasks
    DROP CONSTRAINT tasks_queue_fkey,
    ADD COLUMN operator_runs smallint NOT NULL DEFAULT 0,
    ADD COLUMN steps_since bigint,
    ADD COLUMN key text CHECK (length(key) BETWEEN 1 AND 500),
    ADD COLUMN key_scope text CHECK (key_scope IN ('live', 'completed', 'always')),
    ADD COLUMN key_window timestamptz NOT NULL DEFAULT '-infinity',
    ADD COLUMN dependencies integer NOT NULL DEFAULT 0,
    ADD COLUMN waiting_for integer NOT NULL DEFAULT 0 CHECK (waiting_for >= 0),
    ADD COLUMN on_failure text NOT NULL DEFAULT 'fail' CHECK (on_failure IN ('fail', 'continue', 'cancel')),
    ADD COLUMN parent_id bigint,
    ADD COLUMN rerun_of bigint,
    ADD COLUMN schedule text;
COMMENT ON COLUMN crewtop.tasks.operator_runs IS 'Runs that an operator took away or cancelled; spends no attempt.';
COMMENT ON COLUMN crewtop.tasks.steps_since IS 'Steps of runs up to this one no longer count, since the inputs were edited; NULL: all do.';
COMMENT ON COLUMN crewtop.tasks.key IS 'At most one task of its crew holds a key; see tasks_key.';
COMMENT ON COLUMN crewtop.tasks.key_scope IS
    'Until when a key is held. live: until the task ends; completed: for good unless it fails or is cancelled; always: for good.';
COMMENT ON COLUMN crewtop.tasks.key_window IS 'Start of the window in which the key is held; -infinity: without end.';
COMMENT ON COLUMN crewtop.tasks.dependencies IS 'How many tasks it depends on: rows of task_dependencies.';
COMMENT ON COLUMN crewtop.tasks.waiting_for IS 'How many of them have not ended; at 0 it becomes pending.';
COMMENT ON COLUMN crewtop.tasks.on_failure IS 'What it does when one of them fails or is cancelled.';
COMMENT ON COLUMN crewtop.tasks.parent_id IS 'The task that it was fanned out from: cancelled, it takes along what has not started.';
COMMENT ON COLUMN crewtop.tasks.rerun_of IS 'The task that an operator ran again as this one, from scratch.';
COMMENT ON COLUMN crewtop.tasks.schedule IS 'The schedule that put it in.';

-- Nothing that version 1 had would ever have woken a waiting task.
WITH freed AS (
    UPDATE crewtop.tasks SET status = 'pending', version = version + 1 WHERE status = 'waiting' RETURNING id, version
)
INSERT INTO crewtop.transitions (task_id, version, old_status, new_status, actor, reason)
SELECT id, version, 'waiting', 'pending', 'upgrade', 'there was nothing that it waited for' FROM freed;
ALTER TABLE crewtop.tasks ADD CHECK (status <> 'waiting' OR waiting_for > 0);

CREATE FUNCTION crewtop.key_window(seconds double precision) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN seconds IS NULL THEN '-infinity' ELSE to_timestamp(floor(extract(epoch FROM now()) / seconds) * seconds) END;
COMMENT ON FUNCTION crewtop.key_window IS 'When the present window of so many seconds began, counted from 1970; NULL: one window for all time.';

DROP INDEX crewtop.tasks_by_status;
CREATE INDEX tasks_to_look_at ON crewtop.tasks (status, id DESC) WHERE status IN ('failed', 'cancelled', 'waiting');
CREATE INDEX tasks_by_parent ON crewtop.tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX tasks_key ON crewtop.tasks (crew, key, key_window)
    WHERE key IS NOT NULL AND (key_scope = 'always' OR status IN ('waiting', 'pending', 'running', 'retry')
                               OR key_scope = 'completed' AND status = 'completed');

CREATE TABLE crewtop.task_dependencies (
    depends_on bigint NOT NULL,
    task_id    bigint NOT NULL,
    name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    settled    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (depends_on, task_id, name)
) WITH (fillfactor = 85);
COMMENT ON TABLE crewtop.task_dependencies IS
    'task_id starts after depends_on has ended. Written with task_id and never afterwards: there can be no cycle.';
COMMENT ON COLUMN crewtop.task_dependencies.name IS 'Under which the result is handed to the crew, in inputs.results.';
COMMENT ON COLUMN crewtop.task_dependencies.settled IS 'The end of depends_on has been counted in waiting_for.';
CREATE INDEX task_dependencies_open ON crewtop.task_dependencies (depends_on) WHERE NOT settled;
CREATE INDEX task_dependencies_of ON crewtop.task_dependencies (task_id);

CREATE VIEW crewtop.task_history AS
    SELECT id AS task_id, 1 AS version, created_at AS at, NULL AS old_status,
           CASE WHEN dependencies > 0 AND rerun_of IS NULL THEN 'waiting' ELSE 'pending' END AS new_status,
           NULL::bigint AS run_id,
           CASE WHEN schedule IS NOT NULL THEN 'schedule ' || schedule
                WHEN rerun_of IS NOT NULL THEN 'rerun of task ' || rerun_of ELSE 'producer' END AS actor, NULL AS reason
    FROM crewtop.tasks
    UNION ALL
    SELECT task_id, claimed_version, claimed_at, old_status, 'running', id, 'worker:' || worker_id, NULL
    FROM crewtop.runs WHERE claimed_version IS NOT NULL
    UNION ALL
    SELECT task_id, ended_version, finished_at, 'running', new_status, id, 'worker:' || worker_id,
           CASE WHEN outcome <> 'completed' THEN coalesce(left(error, 200), replace(outcome, '_', ' ')) END
    FROM crewtop.runs WHERE ended_version IS NOT NULL
    UNION ALL
    SELECT task_id, version, at, old_status, new_status, run_id, actor, reason FROM crewtop.transitions;
COMMENT ON VIEW crewtop.task_history IS
    'Every transition of every task, version by version without a gap. A run is itself the record of its start and its end.';

-- Workers

ALTER TABLE crewtop.workers ADD COLUMN drain_ends_at timestamptz;
COMMENT ON COLUMN crewtop.workers.drain_ends_at IS 'When a draining worker hands back what still runs; NULL: it waits for it.';

-- Operations: those of version 1 were done at once, and cannot be taken back, since the versions that they left are unknown

ALTER TABLE crewtop.operations
    DROP CONSTRAINT operations_action_check,
    ADD CONSTRAINT operations_action_check CHECK (action IN
        ('retry', 'rerun', 'fail', 'requeue', 'cancel', 'delete', 'move', 'priority', 'edit', 'undo')),
    ADD COLUMN argument json,
    ADD COLUMN state text NOT NULL DEFAULT 'done' CHECK (state IN ('running', 'paused', 'cancelled', 'done')),
    ADD COLUMN ended_at timestamptz,
    ADD COLUMN role text NOT NULL DEFAULT '?',
    ADD COLUMN scope text,
    ADD COLUMN total integer NOT NULL DEFAULT 0 CHECK (total >= 0),
    ADD COLUMN done integer NOT NULL DEFAULT 0,
    ADD COLUMN refused integer NOT NULL DEFAULT 0,
    ADD COLUMN reached bigint NOT NULL DEFAULT 0,
    ADD COLUMN worked_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN undoes bigint REFERENCES crewtop.operations (id);
UPDATE crewtop.operations AS o
SET ended_at = o.at, worked_at = o.at, total = i.total, done = i.done, refused = i.total - i.done, reached = i.reached
FROM (
    SELECT o.id, count(i.task_id) AS total, count(*) FILTER (WHERE i.done) AS done, coalesce(max(i.task_id), 0) AS reached
    FROM crewtop.operations AS o LEFT JOIN crewtop.operation_items AS i ON i.operation_id = o.id
    GROUP BY o.id
) AS i
WHERE i.id = o.id;
ALTER TABLE crewtop.operations
    ALTER COLUMN state SET DEFAULT 'running',
    ALTER COLUMN role SET DEFAULT session_user,
    ALTER COLUMN total DROP DEFAULT;
COMMENT ON COLUMN crewtop.operations.argument IS 'The queue to move to, the priority, or the inputs, as an object.';
COMMENT ON COLUMN crewtop.operations.state IS 'running: any process may work off the items that are left.';
COMMENT ON COLUMN crewtop.operations.actor IS 'OS user, host and SSH origin; role is the database''s own word for who it was.';
COMMENT ON COLUMN crewtop.operations.scope IS 'The filter as it was typed; NULL: ids were named.';
COMMENT ON COLUMN crewtop.operations.reached IS 'Items up to this task have been looked at: they are worked off in the order of their ids.';
COMMENT ON COLUMN crewtop.operations.worked_at IS 'When a batch of it was last worked off: a running one that is left alone is taken up by a worker.';
COMMENT ON COLUMN crewtop.operations.undoes IS 'The operation that this one takes back.';

ALTER TABLE crewtop.operation_items SET (fillfactor = 20);
ALTER TABLE crewtop.operation_items
    DROP CONSTRAINT operation_items_operation_id_fkey,
    ADD COLUMN seen integer NOT NULL DEFAULT 0,
    ADD COLUMN refusal text,
    ADD COLUMN left_version integer,
    ADD COLUMN before json,
    ALTER COLUMN done DROP NOT NULL,
    ALTER COLUMN outcome DROP NOT NULL,
    ADD CHECK ((done IS NULL) = (outcome IS NULL));
ALTER TABLE crewtop.operation_items ALTER COLUMN seen DROP DEFAULT;
COMMENT ON TABLE crewtop.operation_items IS 'The tasks of an operation, fixed when it was asked for, and what became of each, in words.';
COMMENT ON COLUMN crewtop.operation_items.seen IS 'The version that the operator saw: a task that has moved on is refused.';
COMMENT ON COLUMN crewtop.operation_items.done IS 'NULL: not yet looked at; false: refused.';
COMMENT ON COLUMN crewtop.operation_items.refusal IS 'Why it was refused, without what is particular to the task, to be counted.';
COMMENT ON COLUMN crewtop.operation_items.left_version IS 'The version that the operation left behind: undone is only what still has it.';
COMMENT ON COLUMN crewtop.operation_items.before IS 'What the operation changed, as it was, for undo.';

-- Schedules

CREATE TABLE crewtop.schedules (
    name       text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    definition json NOT NULL,
    next_at    timestamptz NOT NULL,
    last_at    timestamptz,
    last_task  bigint,
    seen_at    timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE crewtop.schedules IS 'One row a recurring task of [schedules]. Whoever moves next_at on puts the task in, in the same statement.';
COMMENT ON COLUMN crewtop.schedules.definition IS 'As the newest worker has it: cron, zone, crew, inputs, queue, priority, missed.';
COMMENT ON COLUMN crewtop.schedules.seen_at IS 'When a worker last had it in its configuration.';
