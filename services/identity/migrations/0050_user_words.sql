-- People are searched by the words of their names and addresses (docs/decisions/0050-search-by-beginnings-of-words.md). The comparisons
-- of an index are leakproof, those of ILIKE and trigrams are not: row-level security would keep them from any index.
CREATE TABLE user_words (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- Lower case. "C", so that beginnings are a range whatever the database's order is.
  word text COLLATE "C" NOT NULL,
  partner_id uuid,
  org_id uuid,
  PRIMARY KEY (user_id, word)
);
CREATE INDEX user_words_everywhere ON user_words (word, user_id);
CREATE INDEX user_words_of_partner ON user_words (partner_id, word, user_id) WHERE partner_id IS NOT NULL;
CREATE INDEX user_words_of_organization ON user_words (org_id, word, user_id) WHERE org_id IS NOT NULL;

ALTER TABLE user_words ENABLE ROW LEVEL SECURITY;
CREATE POLICY user_words_tenant ON user_words FOR ALL
  USING (
    (SELECT current_setting('app.scope', true)) = 'system'
    OR ((SELECT current_setting('app.scope', true)) = 'partner'
        AND partner_id = (SELECT nullif(current_setting('app.partner_id', true), '')::uuid)
        AND (org_id IS NULL
             OR (SELECT current_setting('app.org_access', true)) = 'all'
             OR org_id = ANY ((SELECT nullif(current_setting('app.org_ids', true), '')::uuid[])::uuid[])))
    OR ((SELECT current_setting('app.scope', true)) = 'organization'
        AND org_id = (SELECT nullif(current_setting('app.org_id', true), '')::uuid))
  );

-- What stands between white space, what stands between other signs in it, and what follows an @.
CREATE FUNCTION words_of(name text, email text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE SET search_path = identity, pg_temp AS $$
  WITH part AS (SELECT regexp_split_to_table(lower(name || ' ' || email), '\s+') AS text)
  SELECT left(word, 255) FROM (
    SELECT text AS word FROM part
    UNION SELECT regexp_split_to_table(text, '[^[:alnum:]]+') FROM part
    UNION SELECT substr(text, strpos(text, '@') + 1) FROM part WHERE strpos(text, '@') > 0
  ) AS word WHERE word <> ''
$$;

REVOKE ALL ON FUNCTION words_of(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION words_of(text, text) TO muster_identity_app;

CREATE FUNCTION keep_user_words() RETURNS trigger LANGUAGE plpgsql SET search_path = identity, pg_temp AS $$
BEGIN
  DELETE FROM user_words WHERE user_id = NEW.id;
  INSERT INTO user_words (user_id, word, partner_id, org_id)
    SELECT DISTINCT NEW.id, word, NEW.partner_id, NEW.org_id FROM words_of(NEW.name, NEW.email) AS word;
  RETURN NULL;
END $$;
CREATE TRIGGER users_words AFTER INSERT OR UPDATE OF name, email, partner_id, org_id ON users
  FOR EACH ROW EXECUTE FUNCTION keep_user_words();

INSERT INTO user_words (user_id, word, partner_id, org_id)
  SELECT DISTINCT u.id, word, u.partner_id, u.org_id FROM users u, words_of(u.name, u.email) AS word;
