import { AppError } from "@muster/kit";
import { z } from "zod";
import { errorFields } from "../../errors.ts";
import { publicError } from "../../http/public-error.ts";
import { type Route, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import { exampleId, id, idOut } from "../fields/schemas.ts";

const tag = "Devices";

/** Maximum number of devices of one call, and of concurrent calls for them: one caller does not fill tenancy's pool. */
const devicesMax = 100;
const reviewedMax = 500;
const concurrency = 4;

const upTo = (most: number) =>
  z
    .array(id)
    .min(1)
    .max(most)
    .meta({ description: `At most ${most}; a duplicate counts once.` });
const deviceIds = upTo(devicesMax);

const reply = z.object({
  results: z
    .array(
      z.object({
        id: idOut,
        code: z
          .string()
          .nullable()
          .meta({ description: "Null on success; else the error's code, as of a call for this device alone." }),
        error: z.string().nullable(),
      }),
    )
    .meta({ description: "One for each device, in the order of the call." }),
});

const change = z.object({
  siteId: id.nullish().meta({ description: "A site of their organization; null removes them from their sites." }),
  autoUpdateEnabled: z.boolean().optional(),
});
const paths = { siteId: "site_id", autoUpdateEnabled: "auto_update_enabled" };

const update = route({
  method: "POST",
  path: "/devices/bulk-update",
  audit: "device.update",
  access: { auth: "session", permission: "devices:write", keyScopes: ["devices:write"] },
  tag,
  summary: "Change several devices, each on its own",
  description:
    "Not atomic: `results` holds the outcome per device. Each changed device has its event and its audit row.",
  body: z.object({ deviceIds, change }),
  example: { deviceIds: [exampleId], change: { autoUpdateEnabled: false } },
  reply,
  errors: ["no_updates"],
  async handle({ body, rpc }, { services }) {
    const updateMask = maskOf(body.change, paths);
    const device = { ...body.change, siteId: body.change.siteId ?? "" };
    if (updateMask.paths.length === 0) throw new AppError("no_updates", "No updates provided");
    return ofEach(body.deviceIds, async (each) =>
      services.devices.updateDevice({ id: each, updateMask, device }, await rpc()),
    );
  },
});

const decommission = route({
  method: "POST",
  path: "/devices/bulk-decommission",
  audit: "device.delete",
  access: { auth: "session", permission: "devices:delete", keyScopes: ["devices:write"] },
  tag,
  summary: "Decommission several devices, each on its own",
  description: "As `DELETE /devices/:id` for each; `results` holds the outcome per device.",
  body: z.object({ deviceIds }),
  example: { deviceIds: [exampleId] },
  reply,
  async handle({ body, rpc }, { services }) {
    return ofEach(body.deviceIds, async (each) => {
      await services.devices.decommissionDevice({ id: each }, await rpc());
      await services.agents.endAgent({ deviceId: each }, await rpc());
    });
  },
});

const review = route({
  method: "POST",
  path: "/devices/bulk-review",
  audit: "device.update",
  access: { auth: "session", permission: "devices:write", keyScopes: ["devices:write"] },
  tag,
  summary: "Approve, reject or merge several quarantined devices, each on its own",
  description:
    "`approve` trusts a device beside the one that has its hardware id; `merge` trusts it in the place of that one, which is decommissioned; " +
    "`reject` decommissions it. The last two need permission `devices:delete`, too. `results` holds the outcome per device.",
  body: z.object({ deviceIds: upTo(reviewedMax), action: z.enum(["approve", "merge", "reject"]) }),
  example: { deviceIds: [exampleId], action: "approve" },
  deadline: "report",
  reply,
  async handle({ body: { deviceIds: ids, action }, rpc }, { services }) {
    return ofEach(ids, async (each) => {
      if (action !== "reject") {
        return services.devices.approveDevice({ id: each, merge: action === "merge" }, await rpc());
      }
      await services.devices.rejectDevice({ id: each }, await rpc());
      return services.agents.endAgent({ deviceId: each }, await rpc());
    });
  },
});

/** Applies a change to each device, a few concurrently; a refusal concerns only its device. */
async function ofEach(ids: readonly string[], work: (id: string) => Promise<unknown>): Promise<z.input<typeof reply>> {
  const wanted = [...new Set(ids)];
  const errors = new Map<string, { code: string; error: string }>();
  const waiting = wanted.values();
  const worker = async () => {
    for (const each of waiting) {
      try {
        await work(each);
      } catch (thrown) {
        errors.set(each, errorFields(publicError(thrown)));
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { results: wanted.map((each) => ({ id: each, code: null, error: null, ...errors.get(each) })) };
}

export const deviceBulkRoutes: readonly Route[] = [update, decommission, review];
