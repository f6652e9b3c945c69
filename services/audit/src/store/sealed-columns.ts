import { type SealedColumn, sealedReplies } from "@muster/service";

/** What each kind of secret is sealed for. */
export const secretPurposes = { streams: "audit-stream", replies: sealedReplies.purpose } as const;

/** Associated data of the sealed columns: an envelope can be opened in its own row and column only. */
export const sealedAt = {
  url: (id: string) => `audit_streams.url/${id}`,
  secret: (id: string) => `audit_streams.secret/${id}`,
  headers: (id: string) => `audit_streams.headers/${id}`,
  bucketSecret: (id: string) => `audit_streams.bucket_secret/${id}`,
};

const ofStream = (column: string, location: (id: string) => string): SealedColumn => ({
  table: "audit_streams",
  key: [["id", "uuid"]],
  column,
  purpose: secretPurposes.streams,
  location: ([id = ""]) => location(id),
});

/** Every column of audit that `secretBox` seals; what is missing here keeps an old key needed for ever. */
export const sealedColumns: readonly SealedColumn[] = [
  ofStream("url_sealed", sealedAt.url),
  ofStream("secret_sealed", sealedAt.secret),
  ofStream("headers_sealed", sealedAt.headers),
  ofStream("bucket_secret_sealed", sealedAt.bucketSecret),
  sealedReplies,
];
