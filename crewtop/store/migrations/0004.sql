-- From version 3 to 4: calls with what routed, held back and cut them, budgets, prices written anew, results in order.

ALTER TABLE crewtop.llm_calls
    ADD COLUMN ended_at timestamptz,
    ADD COLUMN clamped boolean NOT NULL DEFAULT false,
    ADD COLUMN route json,
    ADD COLUMN estimated_tokens bigint CHECK (estimated_tokens >= 0),
    ADD COLUMN context_cut text,
    ADD COLUMN waited_seconds double precision CHECK (waited_seconds >= 0),
    ADD COLUMN key_tail text CHECK (length(key_tail) <= 4);
COMMENT ON COLUMN crewtop.llm_calls.ended_at IS 'When its end was recorded, which is the stamp of its rollup; NULL: it goes on.';
COMMENT ON COLUMN crewtop.llm_calls.clamped IS 'The provider''s figures contradicted each other, as more cached than prompt, and were cut to fit.';
COMMENT ON COLUMN crewtop.llm_calls.route IS 'Why this model: what was asked for, the rule or the estimate, the shape of the prompt; NULL: as the crew had it.';
COMMENT ON COLUMN crewtop.llm_calls.estimated_tokens IS
    'What was reckoned for it beforehand, in and out together, and held against the limits: an upper bound, and part of no sum.';
COMMENT ON COLUMN crewtop.llm_calls.context_cut IS 'What was left out of the messages, so that they fit the model; NULL: nothing.';
COMMENT ON COLUMN crewtop.llm_calls.waited_seconds IS 'How long it was held back by limits before it went out; NULL: nobody asked.';
COMMENT ON COLUMN crewtop.llm_calls.key_tail IS 'The last four characters of the key that paid for it; NULL: the crew''s own.';

-- When they ended is known to a fraction of a second; when that was recorded, no more.
UPDATE crewtop.llm_calls SET ended_at = started_at + make_interval(secs => coalesce(seconds, 0)) WHERE outcome <> 'started';
CREATE INDEX llm_calls_by_end ON crewtop.llm_calls (ended_at);
CREATE INDEX tasks_completed ON crewtop.tasks (finished_at, id) WHERE status = 'completed';

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
