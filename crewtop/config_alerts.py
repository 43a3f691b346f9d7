"""The [alerts] table of the settings: rules beside those that everybody has, and to whom they are delivered."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from crewtop.config_llm import Table
from crewtop.model.alert_rules import DEFAULTS, FIGURES, WATCHED
from crewtop.model.alerts import Rule

Name = Annotated[str, Field(min_length=1, max_length=200)]
Span = Annotated[float, Field(ge=0, le=604_800, allow_inf_nan=False)]
Bound = Annotated[float, Field(ge=0, allow_inf_nan=False)]

_DEFAULTS = {rule.name: rule for rule in DEFAULTS}


class Delivery(Table):
    """[alerts.deliver.<name>]: a webhook, which gets Slack's JSON, or a command, which gets the same on its stdin.

    A command is a list of arguments, run without a shell. timeout_seconds: after so long it has failed.
    """

    webhook: SecretStr | None = None
    command: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    timeout_seconds: Annotated[float, Field(gt=0, le=60, allow_inf_nan=False)] = 10.0

    @field_validator("webhook")
    @classmethod
    def _is_a_url(cls, webhook: SecretStr | None) -> SecretStr | None:
        if webhook is not None:
            try:
                parts = urlsplit(webhook.get_secret_value())
                usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
            except ValueError:
                usable = False
            if not usable:
                raise ValueError("use http:// or https:// and a host")
        return webhook

    @model_validator(mode="after")
    def _is_one(self) -> Delivery:
        if (self.webhook is None) == (not self.command):
            raise ValueError("name a webhook or a command, one of the two")
        return self


class RuleSettings(Table):
    """[alerts.rules.<name>]: a rule, or what differs from the one of that name that everybody has.

    watches: a kind of problem, or a figure. above and clear_below are for figures. enabled false: it is not watched.
    """

    watches: str | None = None
    above: Bound | None = None
    clear_below: Bound | None = None
    queue: Name | None = None
    for_seconds: Span | None = None
    clear_seconds: Span | None = None
    severity: Literal["wrong", "watch"] | None = None
    deliver: tuple[Name, ...] | None = None
    enabled: bool = True

    @field_validator("watches")
    @classmethod
    def _is_known(cls, watches: str | None) -> str | None:
        if watches is not None and watches not in WATCHED:
            raise ValueError(f"{watches!r} is unknown: use one of {', '.join(WATCHED)}")
        return watches


class Alerts(Table):
    """[alerts]: to whom alerts are delivered, and rules by name."""

    deliver: dict[Name, Delivery] = Field(default_factory=dict)
    rules: dict[Name, RuleSettings] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> Alerts:
        for name, given in self.rules.items():
            _check(self._rule(name, given))
            if unknown := sorted(set(given.deliver or ()) - self.deliver.keys()):
                known = ", ".join(self.deliver) or "none"
                raise ValueError(f"rules.{name}: deliver {unknown[0]!r} is not in [alerts.deliver]: there is {known}")
        return self

    def rows(self) -> dict[str, Rule]:
        """Every rule that is watched, by name: those that everybody has, as changed here, and those of one's own."""
        rules = dict(_DEFAULTS)
        for name, given in self.rules.items():
            if given.enabled:
                rules[name] = self._rule(name, given)
            else:
                rules.pop(name, None)
        return rules

    def _rule(self, name: str, given: RuleSettings) -> Rule:
        base = _DEFAULTS.get(name)
        if base is None and given.watches is None:
            raise ValueError(f"rules.{name}: say what it watches: one of {', '.join(WATCHED)}")
        if base is None or given.watches not in (None, base.watches):
            base = Rule(name, given.watches or "")
        own = given.model_dump(exclude_none=True, exclude={"enabled"})
        if given.above is not None and given.clear_below is None:
            own["clear_below"] = given.above  # the bound below a default's own would be another one's
        return Rule(**{field: own.get(field, getattr(base, field)) for field in Rule.__dataclass_fields__})


def _check(rule: Rule) -> None:
    if rule.watches not in FIGURES:
        if rule.above is not None or rule.clear_below is not None:
            raise ValueError(f"rules.{rule.name}: {rule.watches} is no figure: leave out above and clear_below")
        return
    if rule.above is None:
        raise ValueError(f"rules.{rule.name}: above is missing: say from which {rule.watches} on it fires")
    if rule.clear_below is not None and rule.clear_below > rule.above:
        raise ValueError(
            f"rules.{rule.name}: clear_below {rule.clear_below:g} is over above {rule.above:g}: "
            "it would clear while it fires"
        )
