import knex, { type Knex } from "knex";

/**
 * Builds statements only: it has no connection, so awaiting a builder fails; hand it to `query` or `execute`. A
 * separate entry point, since knex is 324 files: a process that writes its statements as `sql` does not load them.
 */
export const qb: Knex = knex({ client: "pg" });
