import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { exampleId, id, idOut, valuesIn } from "../fields/schemas.ts";

const idsMax = 100;

const name = z
  .object({
    id: idOut,
    kind: z.enum(["partner", "organization", "site", "device", "device_group", "user"]),
    name: z.string(),
    partnerId: idOut.nullable(),
    orgId: idOut.nullable(),
  })
  .meta({ id: "Name" });

const list = route({
  method: "GET",
  path: "/names",
  access: { auth: "session" },
  tag: "Platform",
  summary: "Names of records by id",
  description:
    "Partners, organizations and sites for callers with `organizations:read`, devices and device groups with `devices:read`, people with `users:read`. " +
    "Records that do not exist or are not visible to the caller are omitted. Unordered.",
  query: z.object({
    ids: valuesIn(id, idsMax)
      .optional()
      .meta({ description: `Ids, comma-separated, at most ${idsMax}.`, example: [exampleId] }),
  }),
  reply: z.object({ data: z.array(name) }),
  async handle({ query, session, rpc }, { services }) {
    const ids = [...new Set(query.ids)];
    if (ids.length === 0) return { data: [] };
    const mayReadUsers = session.caller.permissions.includes("users:read");
    const [records, users] = await Promise.all([
      services.names.listNames({ ids }, await rpc()),
      mayReadUsers ? services.users.listUserNames({ ids }, await rpc()) : { names: [] },
    ]);
    return {
      data: [...records.names, ...users.names.map((each) => ({ ...each, kind: "user" as const }))].map((each) => ({
        id: each.id,
        kind: name.shape.kind.parse(each.kind),
        name: each.name,
        partnerId: each.partnerId || null,
        orgId: each.orgId || null,
      })),
    };
  },
});

export const nameRoutes: readonly Route[] = [list];
