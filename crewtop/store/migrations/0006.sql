-- From version 5 to 6: alerts, what is to be delivered of them, silences, and who judges.

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

-- Not on runs: each end of a run would have to touch every index there.
CREATE INDEX transitions_of_lost ON crewtop.transitions (at) WHERE old_status = 'running' AND actor LIKE 'worker:%';
