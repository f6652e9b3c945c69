-- Tokens of a deleted tenant are refused for its status and deleted by the purge, which walks the table: nothing looks
-- for the valid tokens of a tenant any more.
DROP INDEX agent_tokens_of_organization;
DROP INDEX agent_tokens_of_partner;
