import type { EnrollmentKey } from "@muster/proto/muster/identity/v1/enrollment_key_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import {
  comingTimeIn,
  exampleId,
  flag,
  flagOf,
  id,
  idOut,
  idParams,
  listQuery,
  nameIn,
  only,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeOf,
  timeOut,
  timestampOf,
} from "../fields/schemas.ts";
import { keyWarning, warningOut } from "./api-keys.ts";

const tag = "Enrollment keys";
const read = { auth: "session", permission: "organizations:read" } as const;
const write = { auth: "session", permission: "organizations:write", mfa: true } as const;

const reinstall = z.enum(["quarantine", "replace", "new"]);

const enrollmentKey = z
  .object({
    id: idOut,
    orgId: idOut,
    siteId: idOut.nullable().meta({ description: "Site of enrolled devices." }),
    name: z.string(),
    usageCount: z.int(),
    maxUsage: z.int().nullable().meta({ description: "Maximum number of enrollments; null for no limit." }),
    reinstall,
    expiresAt: timeOut,
    createdBy: idOut,
    createdAt: timeOut,
  })
  .meta({ id: "EnrollmentKey" });
const withKey = enrollmentKey.extend({
  key: z.string().meta({ description: "64 hex characters. Shown only once." }),
  keyId: idOut.meta({ description: "Id of the enrollment key." }),
  keyPrefix: z.string().meta({ description: "First 12 characters of the key, as audit rows name it." }),
  warning: warningOut,
});

const maxUsage = z.int().min(1).max(100_000);

const create = route({
  method: "POST",
  path: "/enrollment-keys",
  access: write,
  audit: "enrollment_key.create",
  tag,
  summary: "Create an enrollment key",
  body: z.object({
    orgId: id.nullish().meta({ description: "Required for partner and system callers." }),
    siteId: id.nullish(),
    name: nameIn,
    maxUsage: maxUsage.optional().meta({ description: "Maximum number of enrollments.", default: 1 }),
    reinstall: reinstall.optional().meta({
      description:
        "For a machine that enrolls again while the device with its hardware id is offline: quarantine it; replace that " +
        "device and take its place; or enroll it as a new device.",
      default: "quarantine",
    }),
    expiresAt: comingTimeIn
      .nullish()
      .meta({ description: "Time at which the key expires; without it, after ENROLLMENT_KEY_DEFAULT_TTL_MINUTES." }),
  }),
  example: { orgId: exampleId, name: "Berlin" },
  idempotent: true,
  noStore: true,
  status: 201,
  reply: withKey,
  errors: ["organization_context_required", "organization_not_found", "site_not_found", "site_restricted"],
  async handle({ body, rpc }, { services }) {
    const wanted = {
      orgId: body.orgId ?? "",
      siteId: body.siteId ?? "",
      name: body.name,
      maxUsage: body.maxUsage,
      reinstall: body.reinstall ?? "",
      expiresAt: timestampOf(body.expiresAt ?? undefined),
    };
    const reply = await services.enrollmentKeys.createEnrollmentKey(wanted, await rpc());
    return shownOnce(reply);
  },
});

const list = route({
  method: "GET",
  path: "/enrollment-keys",
  access: read,
  tag,
  summary: "Enrollment keys of accessible organizations, newest first",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    expired: flag.meta({ description: "Only records that have expired, or only others." }),
  }),
  reply: z.object({ data: z.array(enrollmentKey), pagination }),
  errors: ["organization_not_found"],
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "", expired: flagOf(query.expired) };
    const reply = await services.enrollmentKeys.listEnrollmentKeys(wanted, await rpc());
    return { data: reply.enrollmentKeys.map(enrollmentKeyOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/enrollment-keys/:id",
  access: read,
  tag,
  summary: "One enrollment key",
  params: idParams,
  reply: enrollmentKey,
  errors: ["enrollment_key_not_found"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.enrollmentKeys.getEnrollmentKey({ id: params.id }, await rpc());
    return enrollmentKeyOf(reply.enrollmentKey);
  },
});

const rotate = route({
  method: "POST",
  path: "/enrollment-keys/:id/rotate",
  access: write,
  audit: "enrollment_key.rotate",
  tag,
  summary: "Replace the secret of an enrollment key",
  description: "`usageCount` restarts at 0; omitted fields stay unchanged.",
  params: idParams,
  body: z.object({
    maxUsage: maxUsage.nullish().meta({ description: "Null removes the limit." }),
    expiresAt: comingTimeIn.optional(),
  }),
  example: { maxUsage: 100 },
  idempotent: true,
  noStore: true,
  reply: withKey,
  errors: ["enrollment_key_not_found", "site_restricted"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, usage: usageOf(body.maxUsage), expiresAt: timestampOf(body.expiresAt) };
    const reply = await services.enrollmentKeys.rotateEnrollmentKey(wanted, await rpc());
    return shownOnce(reply);
  },
});

const remove = route({
  method: "DELETE",
  path: "/enrollment-keys/:id",
  load: "vital",
  access: write,
  audit: "enrollment_key.delete",
  tag,
  summary: "Delete an enrollment key permanently",
  params: idParams,
  reply: success,
  errors: ["enrollment_key_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    await services.enrollmentKeys.deleteEnrollmentKey({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

function usageOf(maxUsage: number | null | undefined) {
  if (maxUsage === undefined) return { case: undefined };
  return maxUsage === null
    ? { case: "unlimited" as const, value: true }
    : { case: "maxUsage" as const, value: maxUsage };
}

function shownOnce({ enrollmentKey: message, key }: { enrollmentKey?: EnrollmentKey | undefined; key: string }) {
  const record = enrollmentKeyOf(message);
  return { ...record, key, keyId: record.id, keyPrefix: key.slice(0, 12), warning: keyWarning };
}

function enrollmentKeyOf(message: EnrollmentKey | undefined): z.input<typeof enrollmentKey> {
  if (!message) throw new Error("identity answered without an enrollment key");
  return {
    id: message.id,
    orgId: message.orgId,
    siteId: message.siteId || null,
    name: message.name,
    usageCount: message.usageCount,
    maxUsage: message.maxUsage ?? null,
    // An identity service of 0.1.0 does not say it, and decides so.
    reinstall: reinstall.parse(message.reinstall || "quarantine"),
    expiresAt: timeOf(message.expiresAt),
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
  };
}

export const enrollmentKeyRoutes: readonly Route[] = [create, list, get, rotate, remove];
