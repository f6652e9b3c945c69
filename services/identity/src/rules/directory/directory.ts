/** A directory as stored. */
export type DirectoryRow = {
  id: string;
  partner_id: string;
  org_id: string | null;
  name: string;
  preset: string | null;
  status: "active" | "paused";
  provider_id: string | null;
  default_role_id: string | null;
  default_role_by: string | null;
  created_by: string;
  created_at: Date;
  updated_at: Date;
  tokens: readonly StoredToken[];
  /** Null before its first request. */
  last_cycle: StoredCycle | null;
  /** Users whose role is evaluated again. */
  roles_pending: number;
};

/** What evaluating the roles of its users needs of a directory. */
export type MappedDirectory = Pick<
  DirectoryRow,
  "id" | "name" | "partner_id" | "org_id" | "provider_id" | "default_role_id" | "default_role_by"
>;

/** What a directory did since its last longer pause, as JSON of the database. */
export type StoredCycle = {
  startedAt: string;
  lastAt: string;
  requests: number;
  refused: number;
  created: number;
  changed: number;
  deleted: number;
};

/** A token without its secret, as JSON of the database. */
export type StoredToken = { id: string; prefix: string; createdAt: string; expiresAt: string | null };
