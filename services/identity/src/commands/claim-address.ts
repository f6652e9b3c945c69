import type { Tx } from "@muster/db";
import { type Caller, type RequestMeta, systemCaller } from "@muster/kit";
import { userEvent } from "../emits/audit.ts";
import { userChanged } from "../emits/auth.ts";
import {
  type ClaimedAddress,
  checkClaim,
  checkInvitation,
  domainsOf,
  type Evidence,
  type Tenant,
  yieldedEmail,
  yieldsToDomain,
} from "../rules/address-owner.ts";
import { ownerOf } from "../rules/owner.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import {
  findHolders,
  lockAccounts,
  lockForeignAccounts,
  ownerOfAddress,
  proveOwnAccounts,
  renameAddresses,
  storeProof,
  type YieldingRow,
} from "../store/addresses.ts";

type Who = { caller: Caller; meta: RequestMeta };

/** Who invites: a user of the whole partner, and the platform, count as the partner; others as the account's tenant. */
export const invitesAs = ({ scope, orgAccess }: Pick<Caller, "scope" | "orgAccess">, of: Tenant): Tenant =>
  scope === "system" || (scope === "partner" && orgAccess.mode === "all") ? { ...of, orgId: null } : of;

/** What decides a claim of an address: who verified its domain, and who has it. */
export type AddressFacts = {
  owner: Awaited<ReturnType<typeof ownerOfAddress>>;
  holders: Awaited<ReturnType<typeof findHolders>>;
};

/** Read in one round trip. */
export async function readAddress(tx: Tx, email: string): Promise<AddressFacts> {
  const [owner, holders] = await Promise.all([ownerOfAddress(tx, email), findHolders(tx, email)]);
  return { owner, holders };
}

/** The address for an invitation. Null in a domain that another tenant has verified. */
export async function invitedAddress(tx: Tx, by: Tenant, email: string): Promise<ClaimedAddress | null> {
  return checkInvitation({ email, by, owner: await ownerOfAddress(tx, email) });
}

/**
 * Claims an address for an account, in a transaction of the service: accounts of other tenants that cannot prove it
 * give it up, and the trails of both tell so. Null when another tenant owns it (rules/address-owner.ts). The caller
 * holds `lockAddress`, and may have read `facts` under it.
 */
export async function claimAddress(
  tx: Tx,
  who: Who,
  account: { userId: string; name: string; tenant: Tenant },
  { email, by, evidence }: { email: string; by: Tenant; evidence: Evidence },
  now: Date,
  facts?: AddressFacts,
): Promise<ClaimedAddress | null> {
  const { owner, holders: found } = facts ?? (await readAddress(tx, email));
  const holders = found.filter(({ userId, isAccount }) => isAccount && userId !== account.userId);
  const claimed = checkClaim({ email, by, owner, holders, evidence });
  if (claimed === null || claimed.yielding.length === 0) return claimed;
  await takeAddresses(tx, who, await lockAccounts(tx, claimed.yielding), now);
  const { userId: user_id, name, tenant } = account;
  const user = { user_id, name, partner_id: tenant.partnerId, org_id: tenant.orgId };
  const details = { email, proof: claimed.proof, yielded: claimed.yielding.length };
  tx.emit(userEvent(who, user, { action: "user.email.claim", details }, now));
  return claimed;
}

/**
 * A user followed a link that only a mail carried: the address is proven, unless other accounts have it too, since the
 * link cannot tell which of them its reader means. The caller holds `lockAddress`; the transaction may be the user's.
 */
export async function proveMailbox(tx: Tx, who: Who, user: PrincipalRow, now: Date): Promise<void> {
  const { user_id: userId, email, name } = user;
  const tenant = ownerOf(user);
  const others = (await findHolders(tx, email)).filter((each) => each.isAccount && each.userId !== userId);
  if (others.length > 0) return;
  const claim = { email, by: tenant, evidence: "mailbox" as const };
  const claimed = await claimAddress(tx, who, { userId, name, tenant }, claim, now);
  if (claimed) await storeProof(tx, userId, claimed);
}

/**
 * What follows when a tenant has verified a domain: accounts of others in it that cannot prove their mailbox give their
 * addresses up, and those of the tenant are proven. Returns how many of each. The caller holds `lockDomainOwner`.
 */
export async function claimDomain(
  tx: Tx,
  who: Who,
  { domain, owner }: { domain: string; owner: Tenant },
  now: Date,
): Promise<{ yielded: number; proven: number }> {
  const foreign = await lockForeignAccounts(tx, domain, owner);
  const yielding: YieldingRow[] = [];
  for (const row of foreign) {
    if (!yieldsToDomain({ proof: row.email_proof, tenant: ownerOf(row) }, owner)) continue;
    const nearest = domainsOf(row.email)[0] === domain ? owner : await ownerOfAddress(tx, row.email);
    if (nearest?.partnerId === owner.partnerId && nearest.orgId === owner.orgId) yielding.push(row);
  }
  await takeAddresses(tx, who, yielding, now);
  return { yielded: yielding.length, proven: await proveOwnAccounts(tx, domain, owner) };
}

/** Renames accounts out of the way, and audits it in their tenants, which do not learn for whom. */
async function takeAddresses(tx: Tx, { meta }: Who, rows: readonly YieldingRow[], now: Date): Promise<void> {
  if (rows.length === 0) return;
  const after = new Map(rows.map(({ id, email }) => [id, yieldedEmail(email, id)]));
  const versions = await renameAddresses(
    tx,
    [...after].map(([id, email]) => ({ id, email })),
    now,
  );
  const system = { caller: systemCaller("identity"), meta: { ...meta, clientAddress: null, userAgent: null } };
  for (const row of rows) {
    tx.emit(userChanged(row.id, versions.get(row.id) ?? 0));
    const changes = { before: { email: row.email }, after: { email: after.get(row.id) } };
    const details = { reason: "proven_by_its_owner", changedFields: ["email"], changes };
    tx.emit(userEvent(system, { ...row, user_id: row.id }, { action: "user.email.yield", details }, now));
  }
}
