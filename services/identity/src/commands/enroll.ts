import { AppError, type CallContext, counter, systemCaller, uuidv7 } from "@muster/kit";
import type { CreatedDevice } from "../clients/tenancy-devices.ts";
import type { AgentDeps } from "../deps.ts";
import { newAgentToken } from "../rules/agent-token.ts";
import { tooManyFailures } from "../rules/attempt-limit.ts";
import { type AgentFields, deviceIdsOf, looksLikeEnrollmentKey, requireAgentFields } from "../rules/enrollment.ts";
import { enrollmentDigest } from "../rules/enrollment-key.ts";
import { firstFreeDevice, issueAgentToken } from "../store/agent-tokens.ts";
import { confirm, granted, type Refusal, type ReservedUse, release, reserveUse } from "../store/enrollment-uses.ts";

export type Enrolled = CreatedDevice & { token: string };

const enrollments = counter("muster_identity_enrollments_total", "Enrollments by outcome.", ["outcome"]);
const caller = systemCaller("identity");
/** Failures after which it is unknown whether the device exists: the sweeper resolves them. */
const unsure: readonly string[] = ["unavailable", "overloaded", "deadline_exceeded", "cancelled", "internal"];

/**
 * Enrolls an agent: reserves a use of the key for a new device, lets tenancy create the device, and issues the token
 * and confirms the use in one transaction. The sweeper rolls back incomplete enrollments
 * (docs/decisions/0021-identity-leads-enrollment-one-trusted-device-per-machine.md). Throws as documented at
 * AgentService.Enroll.
 */
export async function enroll(
  deps: AgentDeps,
  context: CallContext,
  key: string,
  fields: AgentFields,
): Promise<Enrolled> {
  requireAgentFields(fields);
  const digests = deps.peppers.map((pepper) => enrollmentDigest(key.toLowerCase(), pepper));
  const taken = new Set<string>();
  const ids = deviceIdsOf(key.toLowerCase(), fields);
  for (;;) {
    const left = ids.filter((id) => !taken.has(id));
    const reserved = looksLikeEnrollmentKey(key)
      ? await takeUse(deps, digests, left)
      : { id: "", outcome: "enrollment_key_invalid" as const };
    await countRefusal(deps, context, reserved.outcome);
    const use = granted(reserved.outcome);
    const made = await makeDevice(deps, context, use, { ...fields, id: reserved.id });
    if (made !== null) {
      const token = await issueToken(deps, use, made);
      if (token !== null) {
        enrollments.inc({ outcome: "enrolled" });
        return { ...made, token };
      }
    }
    // The device was deleted, or has used its token meanwhile: this is another enrollment of the same machine.
    taken.add(reserved.id);
  }
}

type Taken = { id: string; outcome: ReservedUse | Refusal };

/** Reserves a use for the first of these devices that is free, or for a new one. */
async function takeUse(
  { db, reservationSeconds }: AgentDeps,
  digests: readonly Uint8Array[],
  ids: readonly string[],
): Promise<Taken> {
  // The key's uses are counted under its lock: a fleet that enrolls at once waits in the part of its key.
  const actsFor = `enrollment ${digests.map((digest) => Buffer.from(digest).toString("base64")).join()}`;
  return db.tx(
    { caller, actsFor },
    async (tx) => {
      const id = (ids.length > 0 ? await firstFreeDevice(tx, ids) : null) ?? uuidv7();
      return { id, outcome: await reserveUse(tx, digests, id, reservationSeconds) };
    },
    { retry: true },
  );
}

/** Refused keys count towards their address's limit; beyond it they are answered 429, while valid keys still work. */
async function countRefusal({ failures, now }: AgentDeps, { meta }: CallContext, outcome: Taken["outcome"]) {
  if (typeof outcome !== "string" || outcome === "given_up") return;
  enrollments.inc({ outcome });
  const until = await failures.count(meta.clientAddress);
  if (until) throw tooManyFailures(until, now());
}

/** The device, or null when its id is used up. A permanent refusal by tenancy frees the use at once. */
async function makeDevice(
  { db, devices }: AgentDeps,
  { meta, deadlineMs }: CallContext,
  use: ReservedUse,
  wanted: AgentFields & { id: string },
): Promise<CreatedDevice | null> {
  const { orgId, keyId: enrollmentKeyId, reinstall } = use;
  const create = (siteId: string) =>
    devices.create({ ...wanted, orgId, siteId, enrollmentKeyId, reinstall }, { meta, deadlineMs });
  try {
    return await create(use.siteId ?? "").catch((error: unknown) => {
      // The site was deleted a moment ago: its keys enroll into the organization from now on.
      if (use.siteId !== null && error instanceof AppError && error.code === "site_not_found") return create("");
      throw error;
    });
  } catch (error) {
    const { code } = error as AppError;
    enrollments.inc({ outcome: error instanceof AppError ? code : "internal" });
    if (error instanceof AppError && !unsure.includes(code)) {
      await db.tx({ caller, actsFor: use.orgId }, (tx) => release(tx, use.keyId, wanted.id));
      if (code === "device_decommissioned") return null;
    }
    throw error;
  }
}

/**
 * The token of a device, issued with the confirmation of the use; null when another token of the device was used
 * meanwhile.
 */
async function issueToken({ db, now }: AgentDeps, use: ReservedUse, { device }: CreatedDevice): Promise<string | null> {
  const { token, digest } = newAgentToken();
  const { orgId, partnerId, id: deviceId, hostname: name } = device;
  const quarantined = device.status === "quarantined";
  const outcome = await db.tx({ caller, actsFor: orgId }, async (tx) => {
    if (!(await confirm(tx, use.keyId, deviceId))) return "given_up" as const;
    const agent = { deviceId, orgId, partnerId, digest, quarantined, name };
    return (await issueAgentToken(tx, agent, now())) ? "issued" : "used";
  });
  if (outcome === "given_up") granted("given_up");
  return outcome === "issued" ? token : null;
}
