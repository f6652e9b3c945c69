import { hash } from "node:crypto";
import { AppError, type Caller, counter, gauge, type Logger } from "@muster/kit";
import type { ResolveDirectoryResponse } from "@muster/proto/muster/identity/v1/scim_pb";
import type { Inbound } from "../request/headers.ts";
import type { DirectoryClient } from "../route/credential.ts";
import { bearerToken } from "./authenticate.ts";
import { createFreshCache, type FreshCacheOptions } from "./fresh-cache.ts";

export type Directories = {
  /**
   * The directory of a request's bearer token. Throws AppError `directory_token_invalid` and what identity answers,
   * which logs a refused `operation`.
   */
  get(
    inbound: Pick<Inbound, "authorization" | "apiKey">,
    operation: string,
  ): DirectoryClient | Promise<DirectoryClient>;
};

const shape = /^scim_[A-Za-z0-9_-]{43}$/;
/** Tokens, and refusals of unknown ones, cached at most. */
const cachedMax = 10_000;
/** Only limits and fair shares follow from what is cached: identity checks the token again in each call. */
const life = { freshMs: 2_000, hardMs: 5_000 };
const refusals: readonly string[] = ["directory_token_invalid"];
const lookups = counter(
  "muster_gateway_directory_lookups_total",
  "Directory token look-ups by the source of the answer.",
  ["result"],
);
const entries = gauge(
  "muster_gateway_directory_cache_entries",
  "Directories, and refusals of tokens, cached by this gateway.",
);

/** Directories by their tokens, for the gateway's limits. */
export function createDirectories(options: {
  resolve(digest: Uint8Array, operation: string): Promise<ResolveDirectoryResponse>;
  lease: FreshCacheOptions<DirectoryClient>["lease"];
  log: Logger;
}): Directories {
  const { resolve, ...rest } = options;
  const cache = createFreshCache<DirectoryClient>({
    ...rest,
    max: cachedMax,
    lookups,
    entries,
    life,
    isRefusal: (error) => error instanceof AppError && refusals.includes(error.code),
    merge: (before, after) => (before.tokenId === after.tokenId ? before : after),
    onDrop: () => undefined,
    nowMs: () => performance.now(),
  });
  return {
    get({ authorization, apiKey }, operation) {
      const token = apiKey === null ? bearerToken(authorization) : null;
      if (token === null || !shape.test(token)) throw tokenInvalid();
      const digest = hash("sha256", token, "base64");
      const bytes = Buffer.from(digest, "base64");
      return cache.get(digest, async () => clientOf(await resolve(bytes, operation), bytes));
    },
  };
}

function clientOf(
  { directoryId, tokenId, name, partnerId, orgId }: ResolveDirectoryResponse,
  digest: Buffer,
): DirectoryClient {
  return { kind: "directory", id: directoryId, tokenId, digest, caller: callerOf(name, partnerId, orgId) };
}

/** A directory calls services in the gateway's own name; its tenant counts for fair shares. */
const callerOf = (name: string, partnerId: string, orgId: string): Caller => ({
  actor: { type: "system", id: "gateway", email: null, name: `directory: ${name}`, role: null, department: null },
  scope: orgId === "" ? "partner" : "organization",
  partnerId,
  orgId: orgId || null,
  orgAccess: { mode: "list", orgIds: orgId === "" ? [] : [orgId] },
  siteIds: null,
  permissions: [],
  mfaAt: null,
  sessionId: null,
  keyId: null,
});

export const tokenInvalid = () => new AppError("directory_token_invalid", "The directory's token is not valid");
