-- Name of the attribute that identifies users in place of the NameID; null: the NameID.
ALTER TABLE sso_providers ADD COLUMN subject_attribute varchar(255);
