import { AppError, type CallContext } from "@muster/kit";
import { requireDefaultRole } from "../commands/sso/prepare-provider.ts";
import type { KeyDeps } from "../deps.ts";
import type { DirectoryFields } from "../rules/directory/directory-fields.ts";
import type { Owner } from "../rules/sso/provider.ts";
import { isProviderTaken } from "../store/directory/directories.ts";
import { findProvider } from "../store/sso/providers.ts";
import { providerNotFound } from "./sso-provider.ts";

/** The caller may grant the role now, and the provider is of the same owner. */
export async function requireNamed(
  deps: KeyDeps,
  context: CallContext,
  owner: Owner,
  fields: Partial<DirectoryFields>,
): Promise<void> {
  if (fields.defaultRoleId) await requireDefaultRole(deps, context, owner, fields.defaultRoleId);
  if (!fields.providerId) return;
  const provider = await findProvider(deps.db, context, fields.providerId);
  const isOwn = provider?.partner_id === owner.partnerId && provider.org_id === owner.orgId;
  if (!isOwn) throw providerNotFound();
}

export function providerTaken(error: unknown): never {
  if (isProviderTaken(error)) throw new AppError("name_taken", "Another directory has this provider");
  throw error;
}
