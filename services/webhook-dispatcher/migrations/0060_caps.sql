ALTER TABLE webhooks
  -- What requests at a time are counted by, over all webhooks that go there: name or address, without the port. `url_shown` is as the URL
  -- standard writes it, without userinfo.
  ADD COLUMN host text NOT NULL
    GENERATED ALWAYS AS (rtrim(coalesce(substring(url_shown FROM '^[a-z]+://(\[[^\]]*\]|[^:/?#]+)'), ''), '.')) STORED,
  -- Tests of the last minute.
  ADD COLUMN tested_at timestamptz[] NOT NULL DEFAULT '{}';
