"""Translates the tables, views and audits of an archive, which are written for SQLite, to PostgreSQL.

tools/generate.py writes the results to sessionlog/team/postgres/. A test compares the answers of both engines. The
functions that have no counterpart in PostgreSQL are in sessionlog/team/postgres/functions.sql, under SQLite's names.
"""

from __future__ import annotations

import sqlite3
import textwrap
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import sqlglot
from sqlglot import exp

from sessionlog.archive import describe, migrate
from sessionlog.ask import audit
from sessionlog.team import tables as layout

HEAD = "-- Made from {} by tools/generate.py. Do not edit.\n\n"
TYPES = {"TEXT": 'text COLLATE "C"', "INTEGER": "bigint", "REAL": "double precision", "BLOB": "bytea"}
TRUTHS = (exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Is, exp.ILike)
TRUTHS += (exp.Exists, exp.Between, exp.NullSafeEQ, exp.NullSafeNEQ)
TRUE_FUNCTIONS = ("glob", "json_valid")


def files() -> dict[str, str]:
    """The generated files of sessionlog/team/postgres/ by their names."""
    found = {
        "tables.sql": HEAD.format("sessionlog/archive/schema.sql") + "\n".join(map(table, layout.TABLES)),
        "store_events.sql": HEAD.format("sessionlog/archive/schema.sql") + store_events(),
        "views.sql": HEAD.format("sessionlog/archive/schema.sql") + "\n".join(views()),
    }
    for name, query in audit.audits().items():
        names = list(query.parameters)
        told = "".join(f" ${number} is :{parameter}." for number, parameter in enumerate(names, 1))
        head = HEAD.format(f"sessionlog/ask/audits/{name}.sql").replace(".\n", f".{told}\n")
        found[f"audits/{name}.sql"] = f"{head}{translate(query.sql, names)}\n"
    return found


# --- Tables -----------------------------------------------------------------------------------------------------------


def table(name: str) -> str:
    """CREATE TABLE with SQLite's columns, and two in front that say whose row it is."""
    about = layout.TABLES[name]
    lines = [f"    {column}" for column in layout.OWNER]
    for column, kind, default, not_null, expression in _columns(name):
        text = f'    "{column}" {kind}'
        if expression:
            text += f" GENERATED ALWAYS AS ({expression}) STORED"
        elif not_null:
            text += " NOT NULL" + (f" DEFAULT {default}" if default else "")
        lines.append(text)
    lines += [f"    {constraint}" for constraint in about.constraints]
    end = f") PARTITION BY RANGE ({about.partition_by})" if about.partition_by else ")"
    text = f"CREATE TABLE {name} (\n" + ",\n".join(lines) + f"\n{end};\n"
    if about.partition_by:
        text += f"CREATE TABLE {name}_default PARTITION OF {name} DEFAULT;\n"
    return text + "".join(f"CREATE INDEX ON {name} {index};\n" for index in about.indexes)


def store_events() -> str:
    """The function through which all events come. It knows how far it was, so that no event comes twice or again."""
    columns = {name: kind for name, kind, *_, computed in _columns("events") if not computed}
    attributes = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
    names = ", ".join(f'"{name}"' for name in columns)
    values = ", ".join(f'new."{name}"' for name in columns if name != "id")
    return textwrap.dedent(f"""\
        -- An event as it is sent: one array of these takes less CPU time than an array for each column.
        CREATE TYPE new_event AS ({attributes});

        -- Add events to an archive of one's own: those with greater numbers than all that came before.
        CREATE OR REPLACE FUNCTION store_events(mine int, new_events new_event[]) RETURNS int
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = sessionlog, pg_temp AS $$
        DECLARE
            base bigint := mine::bigint << {layout.BITS};
            known bigint;
            stored int;
        BEGIN
            PERFORM check_owner(mine);
            PERFORM pg_advisory_xact_lock(1936484711, mine);  -- another shipper of the same archive
            SELECT coalesce(max(last_event), 0) INTO known FROM shipments WHERE archive = mine;
            IF EXISTS (
                SELECT FROM (SELECT DISTINCT session_id FROM unnest(new_events)) AS new
                LEFT JOIN sessions USING (session_id)
                WHERE sessions.archive IS DISTINCT FROM mine
            ) THEN
                RAISE insufficient_privilege USING MESSAGE = 'a session belongs to another archive';
            END IF;
            INSERT INTO events (developer, archive, {names})
            SELECT session_user, mine, base + new.id, {values}
            FROM unnest(new_events) AS new
            WHERE new.id > known AND new.id < 1::bigint << {layout.BITS};
            GET DIAGNOSTICS stored = ROW_COUNT;
            IF stored > 0 THEN
                INSERT INTO session_heads (developer, archive, session_id, event_id, hash)
                SELECT DISTINCT ON (new.session_id) session_user, mine, new.session_id, new.id, new.hash
                FROM unnest(new_events) AS new
                WHERE new.id > known AND new.hash IS NOT NULL
                ORDER BY new.session_id, new.id DESC;
                INSERT INTO shipments (developer, archive, last_event, events, head)
                SELECT session_user, mine, new.id, stored, new.hash
                FROM unnest(new_events) AS new WHERE new.id > known ORDER BY new.id DESC LIMIT 1;
            END IF;
            RETURN stored;
        END $$;
        REVOKE ALL ON FUNCTION store_events FROM PUBLIC;
        GRANT EXECUTE ON FUNCTION store_events TO sessionlog_developer;
        """)


def _columns(table_name: str) -> list[tuple[str, str, str | None, bool, str | None]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        migrate.create_missing(connection)
        (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table_name,)).fetchone()
        rows = connection.execute(f"PRAGMA table_xinfo({table_name})").fetchall()
    tree = sqlglot.parse_one(sql.replace("STRICT", "").replace(", WITHOUT ROWID", ""), read="sqlite")
    computed = {
        column.name: _rewritten(exp.select(constraint.kind.this.copy())).expressions[0].sql("postgres")
        for column in tree.find_all(exp.ColumnDef)
        for constraint in column.constraints
        if isinstance(constraint.kind, exp.ComputedColumnConstraint)
    }
    found = []
    for _, name, type_, not_null, default, key, hidden in rows:
        kind = "boolean" if name.startswith("is_") else TYPES[type_]
        # A lower level than "everything" leaves the bytes of transcripts at home.
        required = bool(not_null or key) and not (table_name == "transcript_chunks" and name == "data")
        if kind == "boolean" and default is not None:
            found.append((name, kind, "false" if default == "0" else "true", required, None))
            continue
        found.append((name, kind, default, required, computed[name] if hidden in (2, 3) else None))
    return found


# --- Views and audits -------------------------------------------------------------------------------------------------


def views() -> list[str]:
    """CREATE VIEW for each view of an archive. Without security_invoker, a view would show everybody's rows."""
    found = []
    for statement in migrate.statements(migrate.read_script("schema.sql")):
        if statement.startswith("CREATE VIEW"):
            name, query = statement.removeprefix("CREATE VIEW ").split(" AS ", 1)
            found.append(f"CREATE VIEW {name} WITH (security_invoker) AS\n{translate(query)};\n")
            found.append(f"GRANT SELECT ON {name} TO sessionlog_developer, sessionlog_reader, sessionlog_auditor;\n")
    return found


def translate(sql: str, names: Sequence[str] = ()) -> str:
    """A query for SQLite as a query for PostgreSQL, with these parameters as $1, $2, …"""
    tree = _rewritten(sqlglot.parse_one(sql, read="sqlite"))
    for node in list(tree.find_all(exp.Placeholder)):
        node.replace(exp.cast(exp.Var(this=f"${names.index(node.name) + 1}"), "text"))
    text: str = tree.sql("postgres", normalize_functions=False, pretty=True, comments=False)
    return text


def _rewritten(tree: Any) -> Any:
    rules = (functions, null_safe, joins, archive_of_session, no_first_id, since_as_bound, numbers_as_truths)
    for rule in (*rules, truths_as_numbers, mixed_types, whole_numbers, bare_columns, names_and_collations):
        tree = rule(tree)
    return tree


def _call(name: str, *arguments: Any) -> Any:
    return exp.Anonymous(this=name, expressions=[argument for argument in arguments if argument is not None])


def functions(tree: Any) -> Any:
    """The functions that functions.sql offers. sqlglot knows others for them, with other results."""

    def swap(node: Any) -> Any:
        match node:
            case exp.Like():  # SQLite's LIKE ignores case
                return exp.ILike(this=node.this, expression=node.expression)
            case exp.Glob():
                return _call("glob", node.expression, node.this)
            case exp.JSONExtract() | exp.JSONExtractScalar():
                return _call("json_extract", node.this, exp.Literal.string(_path(node.expression)))
            case exp.StrPosition():
                return _call("instr", node.this, node.args.get("substr"))
            case exp.Substring() if node.args.get("length") is not None:
                return _call("piece", node.this, node.args["start"], node.args["length"])
            case exp.JSONObject():
                arguments = [side for pair in node.expressions for side in (pair.this, pair.expression)]
                return exp.cast(_call("json_build_object", *arguments), "text")
            case exp.Cast() if node.to.this in (exp.DataType.Type.INT, exp.DataType.Type.BIGINT):
                return _call("leading_integer", node.this)
            case exp.Date() | exp.TsOrDsToDate():
                return _call("date", node.this, exp.Literal.string("localtime"))
            case exp.Anonymous() if node.name.lower() == "date":
                return _call("date", node.expressions[0], exp.Literal.string("localtime"))
            case exp.Chr():
                return _call("chr", *node.expressions)
        return node

    return tree.transform(swap)


def _path(node: Any) -> str:
    if isinstance(node, exp.Literal):
        return str(node.name)
    return "$." + ".".join(part.name for part in node.expressions if isinstance(part, exp.JSONPathKey))


def null_safe(tree: Any) -> Any:
    """`a IS b`: PostgreSQL has it for NULL, true and false only."""
    for node in list(tree.find_all(exp.Is)):
        if not isinstance(node.expression, exp.Null | exp.Boolean):
            kind, target = exp.NullSafeEQ, node
            if isinstance(node.parent, exp.Not):
                kind, target = exp.NullSafeNEQ, node.parent
            target.replace(kind(this=node.this.copy(), expression=node.expression.copy()))
    return tree


def joins(tree: Any) -> Any:
    """`CROSS JOIN … ON` fixes an order of loops in SQLite; `JOIN` without ON is a cross join."""
    for join in tree.find_all(exp.Join):
        if join.args.get("kind") == "CROSS" and join.args.get("on"):
            join.set("kind", None)
        elif not any(join.args.get(name) for name in ("kind", "side", "on", "using", "method")):
            join.set("kind", "CROSS")
    return tree


def archive_of_session(tree: Any) -> Any:
    """An archive has one project; here each session has its own. `(SELECT … FROM archive)` becomes a join with that."""
    for table_node in list(tree.find_all(exp.Table)):
        if table_node.name != "archive":
            continue
        inner = table_node.find_ancestor(exp.Select)
        outer = inner.parent.find_ancestor(exp.Select)
        if not any(join.this.alias_or_name == "archive" for join in outer.args.get("joins") or ()):
            source = outer.args["from_"].this.alias_or_name
            outer.join("session_projects AS archive", on=f"archive.session_id = {source}.session_id", copy=False)
        value = inner.expressions[0].copy()
        for column in value.find_all(exp.Column):
            column.set("table", exp.to_identifier("archive"))
        inner.parent.replace(exp.paren(value.unalias()))
    return tree


def no_first_id(tree: Any) -> Any:
    """`id >= iif(:since = '', 0, (…))` only helps SQLite, which has no index on time."""
    for node in list(tree.find_all(exp.GTE)):
        is_hint = isinstance(node.expression, exp.If | exp.Case) and node.expression.find(exp.Placeholder)
        if isinstance(node.this, exp.Column) and node.this.name == "id" and is_hint:
            node.replace(exp.true())
    return tree


def since_as_bound(tree: Any) -> Any:
    """`coalesce(at, '') >= :since` as a comparison of the column itself: only that finds partitions and indexes.

    PostgreSQL knows the parameter when it plans, and the part about '' disappears.
    """
    for node in list(tree.find_all(exp.GTE)):
        at, since = node.this, node.expression
        if isinstance(at, exp.Coalesce) and isinstance(since, exp.Placeholder) and at.expressions[0].name == "":
            empty = exp.EQ(this=since.copy(), expression=exp.Literal.string(""))
            missing = exp.and_(exp.Is(this=at.this.copy(), expression=exp.Null()), empty)
            later = exp.GTE(this=at.this.copy(), expression=since.copy())
            node.replace(exp.paren(exp.or_(later, missing)))
    return tree


def _type(node: Any) -> str:
    """TEXT or INTEGER for a column that every table gives the same type; else nothing."""
    types = {
        column.type for found in describe.tables().values() for column in found.columns if column.name == node.name
    } - {""}
    return types.pop() if isinstance(node, exp.Column) and len(types) == 1 else ""


def numbers_as_truths(tree: Any) -> Any:
    """A number where a truth is wanted: instr(…), iif(events, …)."""

    def wanted(node: Any) -> bool:
        parent = node.parent
        if isinstance(parent, exp.Paren):
            return wanted(parent)
        if isinstance(parent, exp.If):
            return parent.this is node and not (isinstance(parent.parent, exp.Case) and parent.parent.this)
        if isinstance(parent, exp.Join):
            return parent.args.get("on") is node
        return isinstance(parent, exp.And | exp.Or | exp.Not | exp.Where | exp.Having)

    for node in list(tree.find_all(exp.Anonymous, exp.Column)):
        is_number = isinstance(node, exp.Anonymous) and node.name.lower() == "instr"
        is_number |= _type(node) == "INTEGER" and not node.name.startswith("is_")
        if is_number and wanted(node):
            node.replace(exp.paren(exp.NEQ(this=node.copy(), expression=exp.Literal.number(0))))
    return tree


def truths_as_numbers(tree: Any) -> Any:
    """A truth where a number is wanted: a sum of both, one among the numbers of a CASE."""
    for node in list(tree.find_all(exp.Add, exp.Sub)):
        for side in (node.this, node.expression):
            if isinstance(side, exp.Paren) and isinstance(side.this, TRUTHS):
                side.replace(exp.cast(side.copy(), "int"))
    for case in list(tree.find_all(exp.Case)):
        branches = [branch.args["true"] for branch in case.args["ifs"]] + [case.args.get("default")]
        if any(isinstance(branch, exp.Literal) and not branch.is_string for branch in branches):
            for branch in branches:
                if isinstance(branch, TRUTHS):
                    branch.replace(exp.cast(exp.paren(branch.copy()), "int"))
    return tree


def mixed_types(tree: Any) -> Any:
    """coalesce(text, number), and numbers in JSON, which come out of it as text."""
    for node in list(tree.find_all(exp.Coalesce)):
        arguments = [node.this, *node.expressions]
        if "TEXT" in map(_type, arguments):
            for argument in arguments:
                if _type(argument) == "INTEGER":
                    argument.replace(exp.cast(argument.copy(), "text"))
    for node in list(tree.find_all(exp.Sum)):
        of_json = isinstance(node.this, exp.Anonymous) and node.this.name == "json_extract"
        if of_json or (isinstance(node.this, exp.Column) and node.this.name == "value"):
            node.set("this", _call("leading_integer", node.this.copy()))
    return tree


def whole_numbers(tree: Any) -> Any:
    """A division of whole numbers: sum() of them is a decimal in PostgreSQL."""
    for node in list(tree.find_all(exp.Div)):
        if isinstance(node.this, exp.Sum) and isinstance(node.expression, exp.Sum | exp.Count):
            node.replace(_call("leading_integer", exp.Div(this=node.this.copy(), expression=node.expression.copy())))
    return tree


def bare_columns(tree: Any) -> Any:
    """A column beside aggregates that is not grouped by: SQLite takes it from the row of the greatest or least."""
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group:
            _name_bare_columns(select, group)
    return tree


def _name_bare_columns(select: Any, group: Any) -> None:
    grouped = {node.sql() for node in group.expressions} | {node.name for node in group.expressions if node.name}
    extremes = [
        found
        for projection in select.expressions
        for found in projection.find_all(exp.Max, exp.Min)
        if _own(found, select) and not found.find_ancestor(exp.Window) and not _holds_truth(found.this)
    ]
    extreme = extremes[0] if len(extremes) == 1 else None
    for projection in select.expressions:
        if projection.alias and projection.alias in grouped:
            continue
        for column in list(projection.find_all(exp.Column)):
            unqualified = {node.name for node in group.expressions if not getattr(node, "table", "")}
            is_grouped = column.sql() in grouped or column.name in (unqualified if column.table else grouped)
            aggregate = column.find_ancestor(exp.AggFunc)
            if aggregate is not None and _own(aggregate, select):
                continue
            if not _own(column, select):  # of a subquery inside: what it takes from here has to be grouped by
                if column.table in _sources(select) and column.sql() not in grouped:
                    group.append("expressions", column.copy())
                    grouped.add(column.sql())
                continue
            if is_grouped:
                continue
            if extreme is None:
                taken: Any = exp.Min(this=column.copy())
            else:
                order = "DESC" if isinstance(extreme, exp.Max) else "ASC"
                by = f"{extreme.this.sql('postgres')} {order} NULLS LAST"
                text = f"(array_agg({column.sql('postgres')} ORDER BY {by}))[1]"
                taken = sqlglot.parse_one(text, read="postgres")
            column.replace(exp.alias_(taken, column.name) if column is projection else taken)
    order = select.args.get("order")
    for ordered in order.expressions if order else ():
        column = ordered.this
        if isinstance(column, exp.Column) and column.table and column.sql() not in grouped:
            text = column.sql("postgres")
            shown = next(
                (p for p in select.expressions if isinstance(p, exp.Alias) and text in p.this.sql("postgres")), 0
            )
            if shown:
                column.replace(exp.column(shown.alias))


def _holds_truth(node: Any) -> bool:
    return isinstance(node, TRUTHS) or (isinstance(node, exp.Anonymous) and node.name in TRUE_FUNCTIONS)


def _own(node: Any, select: Any) -> bool:
    return node.find_ancestor(exp.Select) is select


def _sources(select: Any) -> set[str]:
    nodes = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
    return {node.alias_or_name for node in nodes}


def names_and_collations(tree: Any) -> Any:
    """PostgreSQL 15 wants a name for each subquery, and one collation throughout a recursion."""
    for source in tree.find_all(exp.From):
        if isinstance(source.this, exp.Subquery) and not source.this.alias:
            source.this.set("alias", exp.TableAlias(this=exp.to_identifier("unnamed")))
    for cte in tree.find_all(exp.CTE):
        union = cte.this
        if isinstance(union, exp.Union) and cte.alias in {node.name for node in union.expression.find_all(exp.Table)}:
            for node in list(union.this.expressions):
                is_text = node.is_string if isinstance(node, exp.Literal) else _type(node) != "INTEGER"
                if is_text:
                    node.replace(exp.Collate(this=node.copy(), expression=exp.to_identifier("C", quoted=True)))
    return tree
