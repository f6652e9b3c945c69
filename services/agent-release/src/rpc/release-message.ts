import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Release, ReleaseSchema } from "@muster/proto/muster/release/v1/release_pb";
import type { ListedRelease } from "../store/releases.ts";

/** `untrusted`: why agents would refuse it; null when they accept it. */
export function releaseMessage(row: ListedRelease, untrusted: string | null): Release {
  return create(ReleaseSchema, {
    id: row.id,
    component: row.component,
    version: row.version,
    source: row.source,
    signed: row.signed,
    counter: BigInt(row.counter),
    minimumVersion: row.minimum_version ?? "",
    notesUrl: row.notes_url ?? "",
    yankedAt: row.yanked_at ? timestampFromDate(row.yanked_at) : undefined,
    expiresAt: row.expires_at ? timestampFromDate(row.expires_at) : undefined,
    createdAt: timestampFromDate(row.created_at),
    artifacts: row.artifacts.map(({ os, arch, libc, name, size, sha256 }) => ({
      os,
      arch,
      libc,
      name,
      size: BigInt(size),
      sha256,
    })),
    promoted: row.promoted,
    guardRolloutId: row.guard_id,
    guardState: row.guard_state,
    inFlight: row.in_flight,
    succeeded: row.succeeded,
    failed: row.failed,
    untrusted: untrusted ?? "",
  });
}
