/** A file of a release where it is published. */
export type SourceFile = {
  name: string;
  /** Null where the source does not state it. */
  size: number | null;
  /** Lower-case hex. */
  sha256: string | null;
  /** Public download URL; null when only this service can download it. */
  url: string | null;
  open(): Promise<AsyncIterable<Uint8Array>>;
};

export type SourceRelease = {
  version: string;
  /** Its publisher says so, whatever its version is. */
  prerelease: boolean;
  notesUrl: string | null;
  files: readonly SourceFile[];
};

/** Where releases are published. */
export type ReleaseSource = {
  name: string;
  /** A version, or the latest stable one without; null when there is none. Throws SourceBusy, SourceFailed. */
  find(version: string | null): Promise<SourceRelease | null>;
};

/** The source failed, in words that its user may read. */
export class SourceFailed extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "SourceFailed";
  }
}

/** The source requested a pause (Retry-After). */
export class SourceBusy extends Error {
  readonly retryAfterSeconds: number;
  constructor(retryAfterSeconds: number) {
    super(`the release source requests a pause of ${retryAfterSeconds} s`);
    this.name = "SourceBusy";
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
