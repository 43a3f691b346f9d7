-- crewtop's whole database, readable from top to bottom. PostgreSQL 14 to 18.
-- Every name is schema-qualified, so that a pooler's search_path cannot matter.
-- Stamps are the database's clock; durations are seconds as measured by the worker's monotonic clock.
-- There are no foreign keys on tasks, runs and their history: checked row by row they would cost a fifth of the
-- engine's speed. What deletes a task deletes all that is its (store/delete_tasks.sql is the only place).

CREATE SCHEMA crewtop;

CREATE TABLE crewtop.settings (
    key   text PRIMARY KEY,
    value text NOT NULL
);
COMMENT ON TABLE crewtop.settings IS 'Facts about this database, such as schema_version.';
INSERT INTO crewtop.settings (key, value) VALUES ('schema_version', '7');

-- Queues ------------------------------------------------------------------------------------------------------

CREATE TABLE crewtop.queues (
    name           text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
    created_at     timestamptz NOT NULL DEFAULT now(),
    paused_at      timestamptz,
    paused_by      text,
    paused_reason  text,
    service_levels double precision[] CHECK (cardinality(service_levels) = 5),
    boost_seconds  double precision CHECK (boost_seconds >= 1)
);
COMMENT ON TABLE crewtop.queues IS 'One row a queue; made by the first enqueue into it.';
COMMENT ON COLUMN crewtop.queues.paused_at IS 'Set: workers claim nothing from this queue.';
COMMENT ON COLUMN crewtop.queues.boost_seconds IS
    'A task rises by one priority for each time that it has waited so long, so that P4 is not starved; NULL: never.';
COMMENT ON COLUMN crewtop.queues.service_levels IS 'Seconds that a task of P0..P4 may wait; NULL: the worker''s configured ones.';

-- Limits of queues and crews over all workers.
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

-- Tasks -------------------------------------------------------------------------------------------------------

CREATE FUNCTION crewtop.fingerprint(error text) RETURNS text
-- Not in SQL: that would be taken apart anew, to be inlined, in every statement that writes a task.
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    -- sha256, since a server that keeps to FIPS has no md5, and what records a failure must not fail.
    RETURN left(encode(sha256(replace(trim(regexp_replace(regexp_replace(left(error, 200),
        '"[^"]*"?|`[^`]*`?|\Y''[^'']*''?|[[:alnum:]_.:@/+-]*[0-9@][[:alnum:]_.:@/+-]*', '?', 'g'),
        '[[:space:]]+', ' ', 'g')), chr(92), '/')::bytea), 'hex'), 8);
END $$;
COMMENT ON FUNCTION crewtop.fingerprint IS
    'Eight hexadecimal digits, the same for errors whose first 200 characters differ only in quoted text, white space, and words with a digit or an @: numbers, ids, addresses.';

CREATE TABLE crewtop.tasks (
    id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue               text NOT NULL,
    crew                text NOT NULL CHECK (length(crew) BETWEEN 1 AND 200),
    priority            smallint NOT NULL CHECK (priority BETWEEN 0 AND 4),
    status              text NOT NULL CHECK (status IN
                            ('waiting', 'pending', 'running', 'retry', 'completed', 'failed', 'cancelled')),
    version             integer NOT NULL DEFAULT 1,
    inputs              json NOT NULL,
    inputs_replaced     integer NOT NULL DEFAULT 0,
    created_at          timestamptz NOT NULL DEFAULT now(),
    run_at              timestamptz NOT NULL DEFAULT now(),
    finished_at         timestamptz,
    run_id              bigint,
    worker_id           text,
    lease_expires_at    timestamptz,
    cancel_requested_at timestamptz,
    budget_seconds      double precision CHECK (budget_seconds > 0 AND budget_seconds <= 31536000),
    max_attempts        smallint NOT NULL DEFAULT 3 CHECK (max_attempts > 0),
    failed_runs         smallint NOT NULL DEFAULT 0,
    crashed_runs        smallint NOT NULL DEFAULT 0,
    lost_runs           smallint NOT NULL DEFAULT 0,
    throttled_runs      integer NOT NULL DEFAULT 0,
    interrupted_runs    smallint NOT NULL DEFAULT 0,
    operator_runs       smallint NOT NULL DEFAULT 0,
    steps_since         bigint,
    key                 text CHECK (length(key) BETWEEN 1 AND 500),
    key_scope           text CHECK (key_scope IN ('live', 'completed', 'always')),
    key_window          timestamptz NOT NULL DEFAULT '-infinity',
    dependencies        integer NOT NULL DEFAULT 0,
    waiting_for         integer NOT NULL DEFAULT 0 CHECK (waiting_for >= 0),
    on_failure          text NOT NULL DEFAULT 'fail' CHECK (on_failure IN ('fail', 'continue', 'cancel')),
    parent_id           bigint,
    rerun_of            bigint,
    schedule            text,
    error               text CHECK (length(error) <= 500),
    failure             text GENERATED ALWAYS AS (crewtop.fingerprint(error)) STORED,
    calls               integer NOT NULL DEFAULT 0,
    unpriced_calls      integer NOT NULL DEFAULT 0,
    tokens              bigint NOT NULL DEFAULT 0,
    cost                numeric NOT NULL DEFAULT 0 CHECK (cost >= 0 AND cost < 'Infinity'),
    CHECK ((status = 'running') = (lease_expires_at IS NOT NULL)),
    CHECK ((status IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    CHECK (status <> 'waiting' OR waiting_for > 0)
) WITH (
    -- Room on the page for the status changes and lease extensions that follow an insert (HOT updates).
    fillfactor = 75,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05
);
COMMENT ON TABLE crewtop.tasks IS 'One row a task: kick off a crew with inputs. Results and errors in full are on its runs.';
COMMENT ON COLUMN crewtop.tasks.version IS 'Counts status changes; an operator''s action names the version it saw.';
COMMENT ON COLUMN crewtop.tasks.inputs_replaced IS 'How many NULs and lone surrogates became U+FFFD, since PostgreSQL cannot hold them.';
COMMENT ON COLUMN crewtop.tasks.run_at IS 'Not before; never earlier than created_at, so now() - run_at is how long it has waited.';
COMMENT ON COLUMN crewtop.tasks.run_id IS 'The run that holds the lease while running, afterwards the last run. The fence of every worker''s write.';
COMMENT ON COLUMN crewtop.tasks.lease_expires_at IS 'Set while running. Past it, any worker may rescue the task.';
COMMENT ON COLUMN crewtop.tasks.cancel_requested_at IS 'A running task stays running until its process is gone: shown as cancelling.';
COMMENT ON COLUMN crewtop.tasks.failed_runs IS 'Attempts spent: runs that failed by the task''s own fault. At max_attempts the task fails.';
COMMENT ON COLUMN crewtop.tasks.crashed_runs IS 'Runs whose process died under it; has its own limit and spends no attempt.';
COMMENT ON COLUMN crewtop.tasks.lost_runs IS 'Runs whose worker vanished; has its own limit and spends no attempt.';
COMMENT ON COLUMN crewtop.tasks.throttled_runs IS 'Runs that the provider refused with 429; bounded by the age of the task instead.';
COMMENT ON COLUMN crewtop.tasks.interrupted_runs IS 'Runs that a draining worker gave back.';
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
COMMENT ON COLUMN crewtop.tasks.error IS 'The newest error in short, for lists; whole on runs.error.';
COMMENT ON COLUMN crewtop.tasks.failure IS 'The same for like errors: see fingerprint.';
COMMENT ON COLUMN crewtop.tasks.cost IS 'US dollars of the calls whose price is known: a lower bound while unpriced_calls > 0.';

-- What a worker claims, in claim order.
CREATE INDEX tasks_ready ON crewtop.tasks (queue, priority, run_at, id) WHERE status IN ('pending', 'retry');
-- Rescue and the list of what runs now. Not on lease_expires_at: a heartbeat must stay a HOT update.
CREATE INDEX tasks_running ON crewtop.tasks (id) WHERE status = 'running';
-- The operator's lists of what went wrong or waits, newest first. Pending and running tasks have the indexes above;
-- completed ones are most of the table. An index over every status would be written to by every change.
CREATE INDEX tasks_to_look_at ON crewtop.tasks (status, id DESC) WHERE status IN ('failed', 'cancelled', 'waiting', 'retry');
-- Results in the order in which they came, for whoever follows them.
CREATE INDEX tasks_completed ON crewtop.tasks (finished_at, id) WHERE status = 'completed';
CREATE INDEX tasks_by_failure ON crewtop.tasks (failure, id DESC) WHERE status IN ('failed', 'retry');
CREATE INDEX tasks_by_parent ON crewtop.tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_by_rerun ON crewtop.tasks (rerun_of) WHERE rerun_of IS NOT NULL;
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

-- Runs --------------------------------------------------------------------------------------------------------

CREATE TABLE crewtop.runs (
    id            bigint GENERATED BY DEFAULT AS IDENTITY,
    task_id       bigint NOT NULL,
    worker_id     text NOT NULL,
    outcome       text NOT NULL DEFAULT 'running' CHECK (outcome IN
                      ('running', 'completed', 'failed', 'over_budget', 'crashed', 'throttled',
                       'interrupted', 'returned', 'cancelled', 'lost', 'superseded', 'stalled')),
    claimed_at    timestamptz NOT NULL DEFAULT now(),
    waited_seconds double precision NOT NULL CHECK (waited_seconds >= 0),
    finished_at   timestamptz,
    claimed_version integer,
    old_status    text,
    ended_version integer,
    new_status    text,
    seconds       double precision CHECK (seconds >= 0 AND seconds < 'Infinity'),
    step_position smallint,
    step_count    smallint,
    agent         text,
    activity      text,
    progress_at   timestamptz NOT NULL DEFAULT now(),
    result        json,
    error_type    text,
    error         text,
    traceback     text,
    replaced      integer NOT NULL DEFAULT 0,
    late          boolean NOT NULL DEFAULT false,
    log_tail      text,
    PRIMARY KEY (task_id, id)
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE crewtop.runs IS 'One row an attempt at a task by one worker. Its id, unique over all tasks, is the lease token.';
COMMENT ON COLUMN crewtop.runs.outcome IS 'superseded: an operator failed or requeued the task under the running process.';
COMMENT ON COLUMN crewtop.runs.waited_seconds IS 'From run_at to the claim: the wait that the service level judges.';
COMMENT ON COLUMN crewtop.runs.claimed_version IS 'The task''s version, and from which status it came, when this run began.';
COMMENT ON COLUMN crewtop.runs.ended_version IS
    'The task''s version, and new_status, as this run''s own end made them; NULL: it runs, or somebody else ended it.';
COMMENT ON COLUMN crewtop.runs.seconds IS 'Run time on the worker''s monotonic clock.';
COMMENT ON COLUMN crewtop.runs.progress_at IS 'The last step, call or tool event: the progress clock. The lease is the liveness clock.';
COMMENT ON COLUMN crewtop.runs.replaced IS 'How many NULs and lone surrogates in result or error became U+FFFD.';
COMMENT ON COLUMN crewtop.runs.late IS 'The result or error came after the lease was gone: kept here, and nothing else changed.';

CREATE TABLE crewtop.steps (
    run_id       bigint NOT NULL,
    position     smallint NOT NULL CHECK (position > 0),
    task_id      bigint NOT NULL,
    name         text NOT NULL,
    agent        text,
    description  text,
    status       text NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    output       text,
    receipt      json,
    error        text,
    started_at   timestamptz NOT NULL,
    seconds      double precision CHECK (seconds >= 0),
    resumed_from bigint,
    PRIMARY KEY (run_id, position)
);
COMMENT ON TABLE crewtop.steps IS 'One row a CrewAI task inside a run, written as it starts and as it ends.';
COMMENT ON COLUMN crewtop.steps.receipt IS 'With it and its output, a later run need not do the step again; NULL: it has to.';
COMMENT ON COLUMN crewtop.steps.resumed_from IS 'The run that did this step, and has its output: this one was kept from it.';

CREATE TABLE crewtop.tool_uses (
    run_id        bigint NOT NULL,
    number        smallint NOT NULL CHECK (number > 0),
    task_id       bigint NOT NULL,
    step_position smallint,
    tool          text NOT NULL,
    outcome       text NOT NULL CHECK (outcome IN ('started', 'ok', 'error')),
    error         text,
    started_at    timestamptz NOT NULL,
    seconds       double precision CHECK (seconds >= 0),
    PRIMARY KEY (run_id, number)
);
COMMENT ON TABLE crewtop.tool_uses IS 'One row a use of a tool by a crew, written as it starts and as it ends; the first 500 of a run. What goes in and comes out is not kept.';
COMMENT ON COLUMN crewtop.tool_uses.outcome IS 'started in a run that has ended: it had no end.';

CREATE TABLE crewtop.llm_calls (
    run_id             bigint NOT NULL,
    call_id            text NOT NULL,
    task_id            bigint NOT NULL,
    step_position      smallint,
    agent              text,
    provider           text,
    model              text NOT NULL,
    outcome            text NOT NULL CHECK (outcome IN
                           ('started', 'ok', 'rate_limited', 'refused', 'error', 'timeout', 'killed')),
    started_at         timestamptz NOT NULL,
    seconds            double precision CHECK (seconds >= 0),
    input_tokens       bigint CHECK (input_tokens >= 0),
    cache_read_tokens  bigint CHECK (cache_read_tokens >= 0),
    cache_write_tokens bigint CHECK (cache_write_tokens >= 0),
    output_tokens      bigint CHECK (output_tokens >= 0),
    reasoning_tokens   bigint CHECK (reasoning_tokens >= 0),
    cost               numeric CHECK (cost >= 0 AND cost < 'Infinity'),
    price_source       text NOT NULL,
    usage              json,
    finish_reason      text,
    error              text,
    ended_at           timestamptz,
    clamped            boolean NOT NULL DEFAULT false,
    route              json,
    estimated_tokens   bigint CHECK (estimated_tokens >= 0),
    context_cut        text,
    waited_seconds     double precision CHECK (waited_seconds >= 0),
    key_tail           text CHECK (length(key_tail) <= 4),
    PRIMARY KEY (run_id, call_id)
);
COMMENT ON TABLE crewtop.llm_calls IS 'One row a call to a model: the only source of money figures. Kept for failed, killed and lost runs too.';
COMMENT ON COLUMN crewtop.llm_calls.input_tokens IS 'Uncached input; NULL is unknown, never 0. Likewise the other kinds.';
COMMENT ON COLUMN crewtop.llm_calls.reasoning_tokens IS 'A part of output_tokens.';
COMMENT ON COLUMN crewtop.llm_calls.cost IS 'US dollars; NULL is unknown.';
COMMENT ON COLUMN crewtop.llm_calls.price_source IS 'Where the price comes from, with its version, or why the cost is unknown.';
COMMENT ON COLUMN crewtop.llm_calls.usage IS 'The provider''s usage as it came, so that old calls can be priced again.';
COMMENT ON COLUMN crewtop.llm_calls.ended_at IS 'When its end was recorded, which is the stamp of its rollup; NULL: it goes on.';
COMMENT ON COLUMN crewtop.llm_calls.clamped IS 'The provider''s figures contradicted each other, as more cached than prompt, and were cut to fit.';
COMMENT ON COLUMN crewtop.llm_calls.route IS 'Why this model: what was asked for, the rule or the estimate, the shape of the prompt; NULL: nobody asked.';
COMMENT ON COLUMN crewtop.llm_calls.estimated_tokens IS
    'What was reckoned for it beforehand, in and out together, and held against the limits: an upper bound, and part of no sum.';
COMMENT ON COLUMN crewtop.llm_calls.context_cut IS 'What was left out of the messages, so that they fit the model; NULL: nothing.';
COMMENT ON COLUMN crewtop.llm_calls.waited_seconds IS 'How long it was held back by limits before it went out; NULL: nobody asked.';
COMMENT ON COLUMN crewtop.llm_calls.key_tail IS 'The last four characters of the key that paid for it; NULL: the crew''s own.';
CREATE INDEX llm_calls_open ON crewtop.llm_calls (run_id) WHERE outcome = 'started';
CREATE INDEX llm_calls_by_task ON crewtop.llm_calls (task_id, started_at);
-- Not by the whole key: what is priced again is read in portions of whole statements, of which each has one stamp.
CREATE INDEX llm_calls_by_end ON crewtop.llm_calls (ended_at);

CREATE TABLE crewtop.transitions (
    task_id    bigint NOT NULL,
    version    integer NOT NULL CHECK (version > 1),
    at         timestamptz NOT NULL DEFAULT now(),
    old_status text NOT NULL,
    new_status text NOT NULL,
    run_id     bigint,
    actor      text NOT NULL,
    reason     text,
    PRIMARY KEY (task_id, version)
);
COMMENT ON TABLE crewtop.transitions IS 'What changed a task otherwise than its run did: operators, rescuers, the end of a dependency.';
CREATE INDEX transitions_of_lost ON crewtop.transitions (at) WHERE old_status = 'running' AND actor LIKE 'worker:%';
COMMENT ON COLUMN crewtop.transitions.actor IS 'producer, worker:<id>, or operator:<who>.';

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

-- Workers -----------------------------------------------------------------------------------------------------

CREATE TABLE crewtop.workers (
    id            text PRIMARY KEY,
    host          text NOT NULL,
    pid           integer NOT NULL,
    boot_id       text NOT NULL,
    crewtop       text NOT NULL,
    queues        text[],
    crews         text[] NOT NULL,
    slots         integer NOT NULL CHECK (slots >= 0),
    desired_slots integer CHECK (desired_slots BETWEEN 0 AND 1000),
    busy          integer NOT NULL DEFAULT 0,
    draining      boolean NOT NULL DEFAULT false,
    killed        boolean NOT NULL DEFAULT false,
    drain_ends_at timestamptz,
    started_at    timestamptz NOT NULL DEFAULT now(),
    heartbeat_at  timestamptz NOT NULL DEFAULT now(),
    lease_seconds double precision NOT NULL,
    stopped_at    timestamptz,
    cpu_percent   double precision,
    memory_bytes  bigint,
    clock_offset_seconds double precision
) WITH (fillfactor = 50);
COMMENT ON TABLE crewtop.workers IS 'One row a worker process (host and boot). Recovery never depends on it: leases are on the tasks.';
COMMENT ON COLUMN crewtop.workers.queues IS 'NULL: every queue.';
COMMENT ON COLUMN crewtop.workers.killed IS 'An operator wants it to end at once: what it runs is killed and goes back to its queue.';
COMMENT ON COLUMN crewtop.workers.drain_ends_at IS 'When a draining worker hands back what still runs; NULL: it waits for it.';
COMMENT ON COLUMN crewtop.workers.desired_slots IS 'What an operator asked for; the worker obeys at its next heartbeat.';
COMMENT ON COLUMN crewtop.workers.clock_offset_seconds IS 'The worker''s clock minus the database''s; NULL: not measured.';

-- Operator actions --------------------------------------------------------------------------------------------

CREATE TABLE crewtop.operations (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action     text NOT NULL CHECK (action IN
                   ('retry', 'rerun', 'fail', 'requeue', 'cancel', 'delete', 'move', 'priority', 'edit', 'undo')),
    argument   json,
    state      text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'cancelled', 'done')),
    at         timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    actor      text NOT NULL,
    role       text NOT NULL DEFAULT session_user,
    reason     text,
    scope      text,
    total      integer NOT NULL CHECK (total >= 0),
    done       integer NOT NULL DEFAULT 0,
    refused    integer NOT NULL DEFAULT 0,
    reached    bigint NOT NULL DEFAULT 0,
    worked_at  timestamptz NOT NULL DEFAULT now(),
    undoes     bigint REFERENCES crewtop.operations (id)
);
COMMENT ON TABLE crewtop.operations IS 'One row an operator action over a fixed set of tasks: the audit.';
COMMENT ON COLUMN crewtop.operations.argument IS 'The queue to move to, the priority, or the inputs, as an object.';
COMMENT ON COLUMN crewtop.operations.state IS 'running: any process may work off the items that are left.';
COMMENT ON COLUMN crewtop.operations.actor IS 'OS user, host and SSH origin; role is the database''s own word for who it was.';
COMMENT ON COLUMN crewtop.operations.scope IS 'The filter as it was typed; NULL: ids were named.';
COMMENT ON COLUMN crewtop.operations.reached IS 'Items up to this task have been looked at: they are worked off in the order of their ids.';
COMMENT ON COLUMN crewtop.operations.worked_at IS 'When a batch of it was last worked off: a running one that is left alone is taken up by a worker.';
COMMENT ON COLUMN crewtop.operations.undoes IS 'The operation that this one takes back.';

CREATE TABLE crewtop.operation_items (
    operation_id bigint NOT NULL,
    task_id      bigint NOT NULL,
    seen         integer NOT NULL,
    done         boolean,
    outcome      text,
    refusal      text,
    left_version integer,
    before       json,
    PRIMARY KEY (operation_id, task_id),
    CHECK ((done IS NULL) = (outcome IS NULL))
) WITH (fillfactor = 20); -- outcomes come into rows that begin as three numbers
COMMENT ON TABLE crewtop.operation_items IS 'The tasks of an operation, fixed when it was asked for, and what became of each, in words.';
COMMENT ON COLUMN crewtop.operation_items.seen IS 'The version that the operator saw: a task that has moved on is refused.';
COMMENT ON COLUMN crewtop.operation_items.done IS 'NULL: not yet looked at; false: refused.';
COMMENT ON COLUMN crewtop.operation_items.refusal IS 'Why it was refused, without what is particular to the task, to be counted.';
COMMENT ON COLUMN crewtop.operation_items.left_version IS 'The version that the operation left behind: undone is only what still has it.';
COMMENT ON COLUMN crewtop.operation_items.before IS 'What the operation changed, as it was, for undo.';

-- Money -------------------------------------------------------------------------------------------------------

CREATE TABLE crewtop.budgets (
    scope      text NOT NULL CHECK (scope IN ('total', 'queue', 'crew')),
    name       text NOT NULL,
    day        numeric NOT NULL CHECK (day > 0 AND day < 'Infinity'),
    warn       double precision NOT NULL CHECK (warn > 0 AND warn <= 1),
    pauses     boolean NOT NULL,
    since      timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL DEFAULT now(),
    judged_at  timestamptz,
    spent      numeric NOT NULL DEFAULT 0,
    unpriced   bigint NOT NULL DEFAULT 0,
    last_hour  numeric NOT NULL DEFAULT 0,
    held_until timestamptz,
    PRIMARY KEY (scope, name)
) WITH (fillfactor = 50);
COMMENT ON TABLE crewtop.budgets IS 'One row a budget of [llm.budgets], kept up by the workers that have it. name is empty for the total.';
COMMENT ON COLUMN crewtop.budgets.day IS 'US dollars that may be spent from midnight to midnight, UTC.';
COMMENT ON COLUMN crewtop.budgets.since IS 'When the worker started whose configuration it is: the newest one''s counts.';
COMMENT ON COLUMN crewtop.budgets.seen_at IS 'When such a worker last said so: a budget that nobody has any more holds nothing.';
COMMENT ON COLUMN crewtop.budgets.spent IS 'Of the day of judged_at, as far as it is known; unpriced: calls beside it. last_hour: of the hour before.';
COMMENT ON COLUMN crewtop.budgets.held_until IS 'Until then nothing of it is claimed, since the day''s is spent; NULL: it goes on.';

CREATE VIEW crewtop.standing_budgets AS
    SELECT scope, name, day, warn, pauses, judged_at, spent, unpriced, last_hour,
           CASE WHEN held_until > now() THEN held_until END AS held_until
    FROM crewtop.budgets WHERE seen_at > now() - interval '10 minutes';
COMMENT ON VIEW crewtop.standing_budgets IS 'Those that some worker has had in its configuration in the last ten minutes.';

CREATE TABLE crewtop.repricings (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL DEFAULT now(),
    ended_at  timestamptz,
    worked_at timestamptz NOT NULL DEFAULT now(),
    actor     text NOT NULL,
    role      text NOT NULL DEFAULT session_user,
    since     timestamptz NOT NULL,
    model     text,
    reached   timestamptz NOT NULL
);
COMMENT ON TABLE crewtop.repricings IS 'One row a time that old calls were priced again: the audit, with repricing_sums.';
COMMENT ON COLUMN crewtop.repricings.ended_at IS 'NULL: under way, or left alone by one that died; the next one carries it on.';
COMMENT ON COLUMN crewtop.repricings.since IS 'Calls that ended from then on, up to "at".';
COMMENT ON COLUMN crewtop.repricings.model IS 'Calls to this model alone; NULL: to any.';
COMMENT ON COLUMN crewtop.repricings.reached IS 'Calls that ended up to then have been looked at.';

CREATE TABLE crewtop.repricing_sums (
    repricing_id bigint NOT NULL REFERENCES crewtop.repricings (id),
    provider     text NOT NULL,
    model        text NOT NULL,
    old_source   text NOT NULL,
    new_source   text NOT NULL,
    calls        bigint NOT NULL,
    unknown      bigint NOT NULL,
    before       numeric NOT NULL,
    after        numeric NOT NULL,
    PRIMARY KEY (repricing_id, provider, model, old_source, new_source)
);
COMMENT ON TABLE crewtop.repricing_sums IS 'What a repricing changed: calls whose price came from one source, and comes from another now, with both sums.';
COMMENT ON COLUMN crewtop.repricing_sums.unknown IS 'Of these calls those whose cost was unknown before.';

-- Alerts ------------------------------------------------------------------------------------------------------

CREATE TABLE crewtop.alerts (
    id          uuid PRIMARY KEY,
    rule        text NOT NULL,
    subject     text NOT NULL,
    watches     text NOT NULL,
    queue       text,
    severity    text NOT NULL CHECK (severity IN ('wrong', 'watch')),
    state       text NOT NULL CHECK (state IN ('pending', 'firing', 'clearing', 'ended')),
    since       timestamptz NOT NULL,
    fired_at    timestamptz,
    clear_since timestamptz,
    ended_at    timestamptz,
    words       text NOT NULL,
    value       double precision,
    told        boolean NOT NULL DEFAULT false,
    CHECK ((state = 'ended') = (ended_at IS NOT NULL) AND (state = 'pending') = (fired_at IS NULL))
) WITH (fillfactor = 70);
COMMENT ON TABLE crewtop.alerts IS 'One row a time that a rule fired on a subject, or is about to. Ended ones are kept for 30 days.';
COMMENT ON COLUMN crewtop.alerts.watches IS 'The kind of problem, or the figure, that the rule watched.';
COMMENT ON COLUMN crewtop.alerts.since IS 'When it began to be pending; it fires once that has lasted.';
COMMENT ON COLUMN crewtop.alerts.told IS 'Its beginning was handed to alert_notices, so that its end will be. Not so while it is silenced.';
CREATE UNIQUE INDEX alerts_standing ON crewtop.alerts (rule, subject) WHERE state <> 'ended';
CREATE INDEX alerts_ended ON crewtop.alerts (ended_at) WHERE state = 'ended';

CREATE TABLE crewtop.alert_notices (
    alert_id     uuid NOT NULL REFERENCES crewtop.alerts (id) ON DELETE CASCADE,
    event        text NOT NULL CHECK (event IN ('fired', 'ended')),
    target       text NOT NULL,
    owed_at      timestamptz NOT NULL DEFAULT now(),
    attempts     integer NOT NULL DEFAULT 0,
    next_at      timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    gave_up_at   timestamptz,
    error        text,
    PRIMARY KEY (alert_id, event, target)
);
COMMENT ON TABLE crewtop.alert_notices IS 'What is to be delivered, put down in the transaction that changed the alert: at least once.';
COMMENT ON COLUMN crewtop.alert_notices.target IS 'A name of [alerts.deliver]. Where that leads is known to configurations alone.';
COMMENT ON COLUMN crewtop.alert_notices.next_at IS 'Moved on before each attempt, so that whoever dies in one is followed by another.';
CREATE INDEX alert_notices_owed ON crewtop.alert_notices (next_at) WHERE delivered_at IS NULL AND gave_up_at IS NULL;

CREATE TABLE crewtop.silences (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT now(),
    rule     text NOT NULL,
    subject  text NOT NULL,
    until    timestamptz,
    alert_id uuid,
    actor    text NOT NULL,
    role     text NOT NULL DEFAULT session_user,
    reason   text,
    CHECK ((until IS NULL) = (alert_id IS NOT NULL))
);
COMMENT ON TABLE crewtop.silences IS 'Alerts that nobody is told of, by patterns of rule and subject.';
COMMENT ON COLUMN crewtop.silences.until IS 'NULL: until the alert alert_id ends. One that is lifted gets the moment of that.';

CREATE TABLE crewtop.alert_watch (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    worker_id text,
    delivers  boolean NOT NULL DEFAULT false,
    since     timestamptz NOT NULL DEFAULT '-infinity',
    until     timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);
COMMENT ON TABLE crewtop.alert_watch IS 'One row: the worker that judges alerts for all, for as long as it says so.';
COMMENT ON COLUMN crewtop.alert_watch.delivers IS 'It has [alerts.deliver]: such a one takes over from one that has none, and the newest from the others.';
INSERT INTO crewtop.alert_watch DEFAULT VALUES;

-- Schedules ---------------------------------------------------------------------------------------------------

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

-- Counters and rollups ----------------------------------------------------------------------------------------
-- Both are appended to by the statements that change things and folded in the background, so that no two
-- workers ever wait for one row. Sums over them are exact at every instant. span: 0 = as appended, else the
-- length in seconds of the bucket that starts at "at".

CREATE TABLE crewtop.depth (
    at     timestamptz NOT NULL DEFAULT now(),
    span   integer NOT NULL DEFAULT 0,
    queue  text NOT NULL,
    crew   text NOT NULL,
    status text NOT NULL,
    n      bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
COMMENT ON TABLE crewtop.depth IS 'How many tasks by queue, crew and status: the sum of n. Changes up to an instant: the depth at that instant.';

CREATE TABLE crewtop.stats (
    at        timestamptz NOT NULL DEFAULT now(),
    span      integer NOT NULL DEFAULT 0,
    queue     text NOT NULL,
    crew      text NOT NULL,
    worker_id text NOT NULL,
    completed bigint NOT NULL DEFAULT 0,
    failed    bigint NOT NULL DEFAULT 0,
    retried   bigint NOT NULL DEFAULT 0,
    met       bigint NOT NULL DEFAULT 0,
    missed    bigint NOT NULL DEFAULT 0,
    wait      jsonb NOT NULL DEFAULT '{}',
    run_ok    jsonb NOT NULL DEFAULT '{}',
    run_bad   jsonb NOT NULL DEFAULT '{}'
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
COMMENT ON COLUMN crewtop.stats.worker_id IS 'Empty in buckets of an hour, which are kept for a year, and in the sum of what is older: workers come and go.';
COMMENT ON TABLE crewtop.stats IS 'What finished, by queue, crew and worker. wait, run_ok and run_bad are histograms: bucket number to count.';
COMMENT ON COLUMN crewtop.stats.met IS 'First starts within the service level of their priority; missed: the others.';
CREATE INDEX stats_by_time ON crewtop.stats (at);

CREATE TABLE crewtop.model_stats (
    at                 timestamptz NOT NULL DEFAULT now(),
    span               integer NOT NULL DEFAULT 0,
    queue              text NOT NULL,
    crew               text NOT NULL,
    provider           text NOT NULL,
    model              text NOT NULL,
    calls              bigint NOT NULL DEFAULT 0,
    errors             bigint NOT NULL DEFAULT 0,
    rate_limited       bigint NOT NULL DEFAULT 0,
    unpriced           bigint NOT NULL DEFAULT 0,
    input_tokens       bigint NOT NULL DEFAULT 0,
    cache_read_tokens  bigint NOT NULL DEFAULT 0,
    cache_write_tokens bigint NOT NULL DEFAULT 0,
    output_tokens      bigint NOT NULL DEFAULT 0,
    reasoning_tokens   bigint NOT NULL DEFAULT 0,
    cost               numeric NOT NULL DEFAULT 0,
    latency            jsonb NOT NULL DEFAULT '{}'
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
COMMENT ON TABLE crewtop.model_stats IS 'LLM calls that ended, by queue, crew and model. Sums are of what is known; unpriced counts the rest.';
CREATE INDEX model_stats_by_time ON crewtop.model_stats (at);

CREATE FUNCTION crewtop.bucket(seconds double precision) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ceil(ln(greatest(seconds, 0.000001)) / ln(1.01 / 0.99))::integer;
COMMENT ON FUNCTION crewtop.bucket IS
    'DDSketch bucket of a duration at 1 % relative error: i with gamma^(i-1) < seconds <= gamma^i, gamma = 1.01/0.99 (Masson, Rim, Lee: DDSketch, VLDB 2019).';

CREATE FUNCTION crewtop.key_window(seconds double precision) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN seconds IS NULL THEN '-infinity' ELSE to_timestamp(floor(extract(epoch FROM now()) / seconds) * seconds) END;
COMMENT ON FUNCTION crewtop.key_window IS 'When the present window of so many seconds began, counted from 1970; NULL: one window for all time.';

CREATE FUNCTION crewtop.count_tasks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO crewtop.depth (queue, crew, status, n)
        SELECT queue, crew, status, count(*) FROM new_rows GROUP BY queue, crew, status;
    ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO crewtop.depth (queue, crew, status, n)
        SELECT queue, crew, status, sum(n)
        FROM (SELECT queue, crew, status, 1 AS n FROM new_rows
              UNION ALL SELECT queue, crew, status, -1 FROM old_rows) AS change
        GROUP BY queue, crew, status HAVING sum(n) <> 0;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO crewtop.depth (queue, crew, status, n)
        SELECT queue, crew, status, -count(*) FROM old_rows GROUP BY queue, crew, status;
    ELSE
        TRUNCATE crewtop.depth;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER count_inserted AFTER INSERT ON crewtop.tasks
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION crewtop.count_tasks();
CREATE TRIGGER count_updated AFTER UPDATE ON crewtop.tasks
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION crewtop.count_tasks();
CREATE TRIGGER count_deleted AFTER DELETE ON crewtop.tasks
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION crewtop.count_tasks();
CREATE TRIGGER count_truncated AFTER TRUNCATE ON crewtop.tasks
    FOR EACH STATEMENT EXECUTE FUNCTION crewtop.count_tasks();
