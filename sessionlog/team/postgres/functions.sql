-- What the translated views and audits need that PostgreSQL does not have, under SQLite's names. Nothing here reads a
-- table. PostgreSQL 16 and later replace the three functions about JSON by those in functions_16.sql.

-- A function that catches errors starts a subtransaction, which parallel plans do not allow: PARALLEL UNSAFE.
-- Not every text in a JSON column is JSON that PostgreSQL takes: \u0000, lone surrogates, deep nesting.
CREATE FUNCTION json_valid(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$
BEGIN
    IF $1 IS NULL THEN RETURN NULL; END IF;
    PERFORM $1::jsonb;
    RETURN true;
EXCEPTION WHEN OTHERS THEN RETURN false;
END $$;

-- '$.a' and '$.a.b' as text, true as 1; NULL instead of an error.
CREATE FUNCTION json_extract(text, path text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$
DECLARE
    found jsonb;
BEGIN
    found := $1::jsonb #> string_to_array(substr(path, 3), '.');
    RETURN CASE jsonb_typeof(found) WHEN 'boolean' THEN found::boolean::int::text ELSE found #>> '{}' END;
EXCEPTION WHEN OTHERS THEN RETURN NULL;
END $$;

-- jsonb sorts keys and drops duplicates; json keeps both as SQLite does.
CREATE FUNCTION json_each(text) RETURNS TABLE (key text, value text) LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$
BEGIN
    IF $1 IS NULL THEN
        RETURN;
    ELSIF json_typeof($1::json) = 'array' THEN
        RETURN QUERY SELECT (item.number - 1)::text, item.value
            FROM json_array_elements_text($1::json) WITH ORDINALITY AS item (value, number);
    ELSE
        RETURN QUERY SELECT item.key, item.value FROM json_each_text($1::json) AS item;
    END IF;
END $$;

CREATE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT strpos($1, $2)';

-- substr() with a length that may be less than zero.
CREATE FUNCTION piece(text, integer, integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    'SELECT substr($1, $2, greatest($3, 0))';

-- LIKE does it, except for sets of characters.
CREATE FUNCTION glob(pattern text, value text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN strpos(pattern, '[') > 0 THEN value ~ ('^' || replace(replace(
            regexp_replace(pattern, '([.+(){}|^$\\])', '\\\1', 'g'), '*', '.*'), '?', '.') || '$')
        ELSE value LIKE replace(replace(replace(replace(replace(
            pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_')
    END $$;

CREATE FUNCTION julianday(text) RETURNS double precision LANGUAGE sql STABLE PARALLEL SAFE AS
    'SELECT extract(epoch FROM $1::timestamptz)::double precision / 86400 + 2440587.5';

-- A day in the time zone of the connection, as SQLite's 'localtime'.
CREATE FUNCTION date(text, text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS
    $$SELECT to_char($1::timestamptz, 'YYYY-MM-DD')$$;

CREATE FUNCTION round(double precision, integer) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    'SELECT round($1::numeric, $2)::double precision';

-- CAST(… AS INTEGER): of a text, the number at its beginning, else 0.
CREATE FUNCTION leading_integer(text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$SELECT CASE WHEN $1 IS NOT NULL THEN coalesce(substring($1 FROM '^\s*([+-]?\d{1,18})')::bigint, 0) END$$;
CREATE FUNCTION leading_integer(numeric) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT trunc($1)::bigint';
CREATE FUNCTION leading_integer(double precision) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT trunc($1)::bigint';
CREATE FUNCTION leading_integer(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1';

-- sum(a = b), max(a IN (…)): a truth counts as 1.
CREATE FUNCTION add_truth(bigint, boolean) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    'SELECT CASE WHEN $2 IS NULL THEN $1 ELSE coalesce($1, 0) + $2::int END';
CREATE FUNCTION add_sums(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    'SELECT CASE WHEN $1 IS NULL THEN $2 WHEN $2 IS NULL THEN $1 ELSE $1 + $2 END';
CREATE AGGREGATE sum(boolean) (SFUNC = add_truth, STYPE = bigint, COMBINEFUNC = add_sums, PARALLEL = SAFE);
CREATE AGGREGATE max(boolean) (SFUNC = boolor_statefunc, STYPE = boolean, COMBINEFUNC = boolor_statefunc, PARALLEL = SAFE);
