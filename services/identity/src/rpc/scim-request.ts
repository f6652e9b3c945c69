import { type CallContext, isUuid } from "@muster/kit";
import type { DirectoryDeps } from "../deps.ts";
import { refusedBy, served, withoutValues } from "../emits/request-log.ts";
import { scimInvalid, scimNotFound } from "../rules/scim/errors.ts";
import type { ResourceKind } from "../rules/scim/schema.ts";

/** Characters of a filter in the log. */
const filterShown = 500;
const decoder = new TextDecoder();

/** Logs what `work` did for a request, whether it was served or refused. */
export async function logged<T>(
  deps: DirectoryDeps,
  context: CallContext,
  { digest, id = "", filter = "" }: { digest: Uint8Array; id?: string; filter?: string },
  operation: string,
  effect: "created" | "changed" | "deleted" | null,
  work: () => Promise<T>,
  idOf: (done: T) => string = () => id,
): Promise<T> {
  const { requestId } = context.meta;
  const shown = {
    digest,
    operation,
    filter: filter === "" ? null : withoutValues(filter).slice(0, filterShown),
    requestId,
  };
  try {
    const done = await work();
    deps.requests.note({ ...shown, resourceId: idOf(done) || null, effect }, served);
    return done;
  } catch (failure) {
    deps.requests.note({ ...shown, resourceId: isUuid(id) ? id : null, effect: null }, refusedBy(failure));
    throw failure;
  }
}

export function kindOf(kind: string): ResourceKind {
  if (kind === "User" || kind === "Group") return kind;
  throw scimNotFound();
}

/** An id that no resource can have is one that is not found. */
export function requireId(id: string): string {
  if (!isUuid(id)) throw scimNotFound();
  return id.toLowerCase();
}

export function bodyOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes)) as unknown;
  } catch (cause) {
    if (cause instanceof SyntaxError) throw scimInvalid("invalidSyntax", "The body is no JSON.");
    throw cause;
  }
}
