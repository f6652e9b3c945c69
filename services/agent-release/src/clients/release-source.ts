/** A file of a release where it is published. */
export type SourceFile = {
  name: string;
  /** Null where the source does not say. */
  size: number | null;
  /** Lower-case hex. */
  sha256: string | null;
  /** Where anybody may download it; null when nobody but this service reaches it. */
  url: string | null;
  open(): Promise<AsyncIterable<Uint8Array>>;
};

export type SourceRelease = { version: string; notesUrl: string | null; files: readonly SourceFile[] };

/** Where releases are published. */
export type ReleaseSource = {
  name: string;
  /** A version, or the latest stable one without; null when there is none. Throws SourceBusy, or what the source failed with. */
  find(version: string | null): Promise<SourceRelease | null>;
};

/** The source asks to be left alone for a while. */
export class SourceBusy extends Error {
  readonly retryAfterSeconds: number;
  constructor(retryAfterSeconds: number) {
    super(`the release source asks for ${retryAfterSeconds} s of patience`);
    this.name = "SourceBusy";
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
