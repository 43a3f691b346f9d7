"""What a database's schema is made of, as text to compare, whatever order its columns were added in."""

from __future__ import annotations

from crewtop.store.database import Database

QUERIES = {
    "columns": """
        SELECT format('%s.%s %s%s%s%s default %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                      CASE WHEN a.attnotnull THEN ' not null' END, ' identity ' || nullif(a.attidentity::text, ''),
                      ' generated ' || nullif(a.attgenerated::text, ''), pg_get_expr(d.adbin, d.adrelid))
        FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'crewtop'::regnamespace AND c.relkind IN ('r', 'v', 'p')""",
    # Constraints that say NOT NULL are told with the columns; their names differ between versions of PostgreSQL.
    "constraints": """
        SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
        WHERE connamespace = 'crewtop'::regnamespace AND contype <> 'n'""",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'crewtop'",
    "relations": """
        SELECT format('%s %s %s', relkind, relname,
                      (SELECT string_agg(option, ', ' ORDER BY option) FROM unnest(reloptions) AS option))
        FROM pg_class WHERE relnamespace = 'crewtop'::regnamespace""",
    "views": "SELECT format('%s: %s', viewname, definition) FROM pg_views WHERE schemaname = 'crewtop'",
    "triggers": """
        SELECT pg_get_triggerdef(t.oid) FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
        WHERE c.relnamespace = 'crewtop'::regnamespace AND NOT t.tgisinternal""",
    "functions": "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'crewtop'::regnamespace",
    "comments": """
        SELECT format('%s: %s', (pg_identify_object(classoid, objoid, objsubid)).identity, description)
        FROM pg_description
        WHERE (pg_identify_object(classoid, objoid, objsubid)).identity LIKE 'crewtop.%'""",
}


async def catalog(database: Database) -> dict[str, list[str]]:
    """The schema's parts by kind, sorted."""
    async with database.connection() as connection:
        return {kind: sorted(row[0] for row in await connection.fetch(query)) for kind, query in QUERIES.items()}


def differences(found: dict[str, list[str]], wanted: dict[str, list[str]]) -> list[str]:
    """What one has and the other has not, a line each."""
    lines = []
    for kind, parts in wanted.items():
        lines += [f"missing in {kind}: {part}" for part in parts if part not in found[kind]]
        lines += [f"too many in {kind}: {part}" for part in found[kind] if part not in parts]
    return lines
