import type { ServiceImpl } from "@connectrpc/connect";
import type { ScimService } from "@muster/proto/muster/identity/v1/scim_pb";
import type { DirectoryDeps } from "../deps.ts";
import { scimAdmission } from "./scim-admission.ts";
import { scimChanges } from "./scim-changes.ts";
import { scimReads } from "./scim-reads.ts";

/** SCIM 2.0 for directories (docs/directory.md), called by gateways alone. */
export function scimService(deps: DirectoryDeps): ServiceImpl<typeof ScimService> {
  return { ...scimAdmission(deps), ...scimReads(deps), ...scimChanges(deps) };
}
