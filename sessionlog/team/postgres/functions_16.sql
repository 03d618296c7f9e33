-- PostgreSQL 16 and later: the same without catching errors, so that plans may be parallel.
CREATE OR REPLACE FUNCTION json_valid(text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$SELECT pg_input_is_valid($1, 'jsonb')$$;

CREATE OR REPLACE FUNCTION json_extract(text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_input_is_valid($1, 'jsonb') THEN
        CASE jsonb_typeof($1::jsonb #> string_to_array(substr(path, 3), '.'))
            WHEN 'boolean' THEN ($1::jsonb #> string_to_array(substr(path, 3), '.'))::boolean::int::text
            ELSE $1::jsonb #>> string_to_array(substr(path, 3), '.')
        END
    END $$;
