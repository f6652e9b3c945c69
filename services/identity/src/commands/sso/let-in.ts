import { randomBytes } from "node:crypto";
import type { Tx } from "@muster/db";
import { type CallContext, type Caller, systemCaller, uuidv7 } from "@muster/kit";
import type { SsoDeps } from "../../deps.ts";
import { appliedEverywhere } from "../../emits/applied-everywhere.ts";
import { userEvent } from "../../emits/audit.ts";
import { userChanged } from "../../emits/auth.ts";
import { recordLoginFlowOutcome } from "../../emits/sso-facts.ts";
import { addressRefusal, ownsFor } from "../../rules/address-owner.ts";
import type { MappedDirectory } from "../../rules/directory/directory.ts";
import { mappedRole } from "../../rules/directory/role-mapping.ts";
import { tokenHash } from "../../rules/opaque-token.ts";
import { ownerOf } from "../../rules/owner.ts";
import { hasLeft } from "../../rules/password-sign-in.ts";
import { principalCaller } from "../../rules/principal.ts";
import type { Addressed, Claimed } from "../../rules/sso/claims.ts";
import { domainOf } from "../../rules/sso/email-domain.ts";
import { type ProviderRow, tenantOf } from "../../rules/sso/provider.ts";
import { LoginFlowEnded } from "../../rules/sso/reasons.ts";
import { type Verdict, whoIsLetIn } from "../../rules/sso/who-is-let-in.ts";
import { lockAddress, ownerOfAddress, storeProof } from "../../store/addresses.ts";
import { lockAdministration } from "../../store/administration.ts";
import { directoryOfProvider, storeClaimGroups } from "../../store/directory/of-provider.ts";
import { lockStandings } from "../../store/directory/role-mappings.ts";
import { withdrawInvites } from "../../store/invites.ts";
import { readPrincipal } from "../../store/principals.ts";
import { linkTokensLocation } from "../../store/sealed-columns.ts";
import {
  acceptWithoutPassword,
  findCandidate,
  findLinked,
  isAccountTaken,
  isLinkTaken,
  putLink,
} from "../../store/sso/identities.ts";
import { insertCode, type LoginRow } from "../../store/sso/logins.ts";
import { holdProvider } from "../../store/sso/providers.ts";
import { serializedByPartner } from "../administer.ts";
import { claimAddress } from "../claim-address.ts";
import { applyRoles, endAccess, keepsAdministrator, readRules } from "../directory/apply-roles.ts";
import { asDirectory } from "../directory/client.ts";
import { provision } from "./provision.ts";

/** What a provider answered about a user. */
export type Answer = {
  claimed: Claimed;
  /** The provider is trusted with second factors, and saw one. */
  mfa: boolean;
  /** All claims, for the link. */
  profile: Record<string, unknown>;
  tokens: { access: string | null; refresh: string | null; expiresInSeconds: number | null };
};

/** An answer with an address. */
export type Arrival = Answer & { claimed: Addressed };

export type Arrived = { login: LoginRow; provider: ProviderRow; arrival: Arrival };

export type LetInDeps = Pick<SsoDeps, "db" | "now" | "sealing">;

/** Life of an exchange code. */
export const codeMs = 2 * 60_000;
const maxProfileBytes = 16 * 1024;

/**
 * Lets the user behind a verified answer in, in one transaction that checks the provider again: the link, an accepted
 * invitation or a new account, and the one-time code for it. Throws LoginFlowEnded at step `person`.
 */
export async function letIn(deps: LetInDeps, context: CallContext, arrived: Arrived): Promise<string> {
  const who = { ...context, caller: systemCaller("identity"), actsFor: tenantOf(arrived.provider) };
  const run = (isLocked: boolean) => deps.db.tx(who, (tx) => admitIn(deps, context, tx, arrived, isLocked));
  // New users are created one at a time per partner, and waiting for that holds no connection.
  const runProvisioning = () => serializedByPartner(deps.db, arrived.provider.partner_id, () => run(true));
  let outcome = await run(false).catch(onceMore(() => run(false)));
  if (outcome.kind === "wants_lock") outcome = await runProvisioning().catch(onceMore(runProvisioning));
  if (outcome.kind === "refused") {
    await appliedEverywhere(deps.db, outcome.messages ?? []);
    throw outcome.ended;
  }
  if (outcome.kind === "wants_lock") throw new Error("a lock was wanted twice");
  // A role that the sign-in takes away is lost everywhere before it answers.
  await appliedEverywhere(deps.db, outcome.messages);
  return outcome.code;
}

/** Two first sign-ins of one user came together: the second finds what the first has made. */
const onceMore =
  <T>(again: () => Promise<T>) =>
  (error: unknown): Promise<T> => {
    if (isAccountTaken(error) || isLinkTaken(error)) return again();
    throw error;
  };

type Outcome =
  | { kind: "in"; code: string; messages: readonly string[] }
  // An account is to be made, or a role to be given: under the lock of the partner's administration.
  | { kind: "wants_lock" }
  // Returned, not thrown: nothing was written, and the connection stays whole.
  | { kind: "refused"; ended: LoginFlowEnded; messages?: readonly string[] };

const refused = (reason: LoginFlowEnded["reason"], detail: string): Outcome => ({
  kind: "refused",
  ended: new LoginFlowEnded("person", reason, detail),
});

async function admitIn(
  deps: LetInDeps,
  context: CallContext,
  tx: Tx,
  { login, provider, arrival }: Arrived,
  isLocked: boolean,
): Promise<Outcome> {
  const now = deps.now();
  const owner = ownerOf(provider);
  // Locked before the provider: changes of users and roles take the locks in this order.
  if (isLocked) await lockAdministration(tx, "system", owner.partnerId);
  const held = await holdProvider(tx, provider, ["active"]);
  if (!held) return refused("provider_changed", "the provider was changed during the sign-in");
  const directory = await directoryOfProvider(tx, held.id);
  if (directory && !isLocked) return { kind: "wants_lock" };
  const verdict = await decide(tx, held, arrival);
  if (verdict.kind === "refused") return refused(verdict.reason, detailOf(verdict.reason));
  if (verdict.kind === "provision" && !isLocked) return { kind: "wants_lock" };
  const entered = await enter(deps, context, tx, held, arrival, verdict);
  if ("kind" in entered) return entered;
  const user = await readPrincipal(tx, entered.userId);
  // Thrown: an account may have been created in a tenant that has ended, and is rolled back with the transaction.
  if (user?.status !== "active") throw new LoginFlowEnded("person", "user_disabled", detailOf("user_disabled"));
  if (hasLeft(user)) throw new LoginFlowEnded("person", "tenant_inactive", detailOf("tenant_inactive"));
  await keepLink(deps, tx, held, arrival, entered.userId, now);
  const applied = directory ? await applyClaims(tx, context, directory, held, arrival, entered.userId, now) : noRoles;
  const { messages } = applied;
  if (!applied.hasAccess) {
    const ended = new LoginFlowEnded("person", "no_org_access", applied.detail);
    // Thrown: the account that was created is rolled back with the transaction.
    if (verdict.kind === "provision") throw ended;
    return { kind: "refused", ended, messages };
  }
  const code = randomBytes(32).toString("base64url");
  const expiresAt = new Date(now.getTime() + codeMs);
  const { id: provider_id, generation } = held;
  const { mfa } = arrival;
  await insertCode(
    tx,
    tokenHash(code),
    { user_id: entered.userId, provider_id, generation, mfa, expires_at: expiresAt },
    now,
  );
  const { email } = arrival.claimed;
  await recordLoginFlowOutcome(
    tx,
    context,
    held,
    { kind: login.kind, step: "code", reason: null, detail: null, email },
    now,
  );
  return { kind: "in", code, messages };
}

const unmapped = "no role mapping of the directory matches the user's groups";
const elsewhere =
  "the provider sent an address in place of the groups, since there are too many: let it send only those that are assigned to the application";

type Applied = { messages: string[]; hasAccess: true } | { messages: string[]; hasAccess: false; detail: string };
const noRoles: Applied = { messages: [], hasAccess: true };

/**
 * Gives the roles that the groups of this sign-in say. A user to whom the mapping gives none has no access, and loses
 * earlier sessions, unless that would leave the tenant without an administrator.
 */
async function applyClaims(
  tx: Tx,
  context: CallContext,
  directory: MappedDirectory,
  { id: providerId }: ProviderRow,
  { claimed }: Arrival,
  userId: string,
  now: Date,
): Promise<Applied> {
  const { groups: claims, groupsElsewhere } = claimed;
  if (!groupsElsewhere) await storeClaimGroups(tx, { providerId, userId }, claims);
  const who = asDirectory(context, directory);
  const rules = await readRules(tx, who, directory);
  const [standing] = await lockStandings(tx, directory, [userId]);
  const isByClaims = rules.rules.some(({ claim }) => claim !== null);
  if (!standing || !(standing.is_managed || isByClaims)) return noRoles;
  // Roles by groups that nobody has seen would be a guess: the ones from before stay, and nobody signs in with them.
  if (groupsElsewhere && isByClaims) return { messages: [], hasAccess: false, detail: elsewhere };
  const messages = await applyRoles(tx, who, directory, [userId], { cause: "sign_in", rules }, now);
  const groups = { groupIds: standing.group_ids, claims: standing.claims };
  const isMappedTo = mappedRole(rules.rules, groups, rules.defaultRoleId) !== null;
  if (isMappedTo || !(await keepsAdministrator(tx, standing, null))) return { messages, hasAccess: true };
  return { messages: [...messages, ...(await endAccess(tx, who, userId, now))], hasAccess: false, detail: unmapped };
}

async function decide(tx: Tx, provider: ProviderRow, { claimed }: Arrival): Promise<Verdict> {
  const owner = ownerOf(provider);
  const { email } = claimed;
  // Sign-ins of one user wait for each other here: the second finds what the first has made.
  await lockAddress(tx, email);
  // One after the other: they share a connection, and the first two take locks.
  const linked = await findLinked(tx, provider.id, claimed.externalId);
  const identity = { providerId: provider.id, externalId: claimed.externalId };
  const found = linked ? null : await findCandidate(tx, owner, email, identity);
  const domainOwner = await ownerOfAddress(tx, email);
  return whoIsLetIn({
    provisions: provider.org_id === null ? "never" : provider.auto_provision ? "on" : "off",
    emailVerified: claimed.emailVerified,
    domainVerified:
      domainOwner?.domain === domainOf(email) &&
      domainOwner?.partnerId === owner.partnerId &&
      domainOwner.orgId === owner.orgId,
    linked,
    found,
    isForeign: domainOwner !== null && !ownsFor(owner, domainOwner),
  });
}

async function enter(
  deps: LetInDeps,
  context: CallContext,
  tx: Tx,
  provider: ProviderRow,
  { claimed }: Arrival,
  verdict: Exclude<Verdict, { kind: "refused" }>,
): Promise<{ userId: string } | Outcome> {
  const now = deps.now();
  if (verdict.kind === "provision") {
    const made = await provision(tx, context, provider, claimed, uuidv7(now.getTime()), now);
    return "reason" in made ? refused(made.reason, detailOf(made.reason)) : made;
  }
  const { userId, how } = verdict;
  if (how === "linked") return { userId };
  const user = await readPrincipal(tx, userId);
  if (!user || hasLeft(user)) return refused("tenant_inactive", detailOf("tenant_inactive"));
  const account = { userId, name: user.name, tenant: ownerOf(provider) };
  const claim = { email: user.email, by: ownerOf(provider), evidence: "none" as const };
  const address = await claimAddress(tx, { ...context, caller: systemCaller("identity") }, account, claim, now);
  if (!address) return refused("domain_not_allowed", detailOf("domain_not_allowed"));
  if (how === "matched") {
    await storeProof(tx, userId, address);
    return { userId };
  }
  const version = await acceptWithoutPassword(tx, address, userId, now);
  // Thrown: the claim may have been written.
  if (version === null) throw new LoginFlowEnded("person", "user_not_found", "the invitation was withdrawn");
  await withdrawInvites(tx, userId);
  const caller: Caller = principalCaller(user);
  const by = { providerId: provider.id, providerName: provider.name };
  const details = { method: "sso", ...by, emailProof: address.proof };
  tx.emit(userChanged(userId, version));
  tx.emit(userEvent({ ...context, caller }, user, { action: "user.invite.accept", details }, now));
  return { userId };
}

/** The link of the user to the provider, made or brought up to date, with the provider's own tokens sealed. */
export async function keepLink(
  { sealing }: Pick<SsoDeps, "sealing">,
  tx: Tx,
  provider: ProviderRow,
  { claimed, profile, tokens }: Arrival,
  userId: string,
  now: Date,
): Promise<void> {
  const held = JSON.stringify({ accessToken: tokens.access, refreshToken: tokens.refresh });
  const text = JSON.stringify(profile);
  const kept = await putLink(
    tx,
    {
      providerId: provider.id,
      userId,
      owner: ownerOf(provider),
      externalId: claimed.externalId,
      email: claimed.email,
      profile: text.length <= maxProfileBytes ? profile : {},
      tokensSealed:
        tokens.access === null ? null : sealing.seal(Buffer.from(held), linkTokensLocation(provider.id, userId)),
      tokenExpiresAt:
        tokens.expiresInSeconds === null ? null : new Date(now.getTime() + tokens.expiresInSeconds * 1_000),
    },
    now,
  );
  if (!kept) throw new LoginFlowEnded("person", "identity_in_use", "another account has this identity");
}

const details: Partial<Record<LoginFlowEnded["reason"], string>> = {
  link_required:
    "an account with this address exists; its owner links it from their profile, or the domain is verified",
  domain_not_verified: "the provider does not say that the address is verified, and its domain is not verified here",
  user_not_found: "no account here has this address, and accounts are not created automatically",
  invite_required: "no user of the partner has this address; an administrator invites users first",
  // One sentence, whether or not somebody has an account with the address.
  domain_not_allowed: addressRefusal,
  user_disabled: "the account is disabled",
  tenant_inactive: "the organization or its partner has ended",
  default_role_invalid: "the user who saved the default role may not grant it any more; save it again",
};
const detailOf = (reason: LoginFlowEnded["reason"]) => details[reason] ?? "";
