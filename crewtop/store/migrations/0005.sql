-- From version 4 to 5: the tools that crews use.

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

COMMENT ON COLUMN crewtop.llm_calls.route IS 'Why this model: what was asked for, the rule or the estimate, the shape of the prompt; NULL: nobody asked.';
