-- Labels of sites, as devices have them.
ALTER TABLE sites ADD COLUMN labels jsonb NOT NULL DEFAULT '{}';
