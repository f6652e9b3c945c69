export type ArchivedObject = { key: string; bytes: number };

/**
 * Where things are kept outside of the database. Keys are `a/b.c` of safe characters; `put` is done when it is durable.
 */
export type Archive = {
  /** What a log line may show. */
  readonly name: string;
  /**
   * Stores `body` under `key`, replacing an earlier object. With `lockUntil` it cannot be changed or removed before
   * then: in S3 by object lock (a bucket with versioning and lock), in a directory as far as file modes go.
   */
  put(key: string, body: Uint8Array, options?: { lockUntil?: Date; contentType?: string }): Promise<void>;
  /** The object under `key`; null when there is none. */
  get(key: string): Promise<Buffer | null>;
  /** Objects whose key begins with `prefix`, by key. */
  list(prefix: string): AsyncIterable<ArchivedObject>;
  close(): Promise<void>;
};

/** Throws a TypeError for a key that could leave its directory or be ambiguous elsewhere. */
export function checkKey(key: string): void {
  const isKey = /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/.test(key) && !key.split("/").some((part) => /^\.+$/.test(part));
  if (!isKey || key.length > 900) throw new TypeError(`not a key of an archive: ${key.slice(0, 100)}`);
}
