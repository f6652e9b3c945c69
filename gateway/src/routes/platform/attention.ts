import { attentionKinds } from "@muster/kit";
import type { AttentionItem } from "@muster/proto/muster/common/v1/attention_pb";
import { toAppError } from "@muster/rpc";
import { z } from "zod";
import { type AttentionSourceName, attentionSources } from "../../clients/services.ts";
import { type Route, route } from "../../route/route.ts";
import { id, idOut, only, timeOf, timeOut } from "../fields/schemas.ts";

const kind = z.enum(attentionKinds);
type Kind = z.output<typeof kind>;
const recordType = z.enum(["rollout", "webhook", "audit_stream", "sso_provider", "directory", "api_key", "device"]);

/** Kinds by the service that holds the records. */
const kindsOf: Readonly<Record<AttentionSourceName, readonly Kind[]>> = {
  tenancy: ["device"],
  identity: ["sso_provider", "directory", "certificate", "api_key"],
  audit: ["audit_stream"],
  "webhook-dispatcher": ["webhook"],
  "agent-release": ["rollout"],
};

const item = z
  .object({
    kind,
    record: z
      .object({ type: recordType, id: idOut, name: z.string() })
      .nullable()
      .meta({ description: "Null when the item stands for several records, which the link lists." }),
    orgId: idOut.nullable(),
    partnerId: idOut.nullable(),
    count: z.int().meta({ description: "Records that the item stands for." }),
    since: timeOut,
    sentence: z.string(),
    link: z.string().meta({ description: "Path of the console's page.", example: "/webhooks/018f6f1e" }),
  })
  .meta({ id: "AttentionItem" });

const list = route({
  method: "GET",
  path: "/attention",
  access: { auth: "session", permission: "devices:read", keyScopes: ["devices:read"] },
  tag: "Platform",
  summary: "What needs attention, the worst kind first and the newest first of each",
  description:
    "Halted rollouts, failing webhooks, streams of audit rows, identity providers and directories, certificates that end within 30 days, API keys " +
    "that end within 14 days, devices to approve. Contains each kind only for callers who may read its records; at most 100 of each.",
  deadline: "health",
  query: z.object({ orgId: id.optional().meta({ description: only.organization }) }),
  reply: z.object({
    data: z.array(item),
    cutKinds: z.array(kind).meta({ description: "Kinds of which there are more than are listed." }),
    unknownKinds: z.array(kind).meta({ description: "Kinds of a service that did not answer." }),
  }),
  errors: ["organization_not_found"],
  async handle({ query: { orgId = "" }, rpc }, { services }) {
    const requests = attentionSources.map(async (service) => {
      try {
        return { ...(await services.attention[service].listAttention({ orgId }, await rpc())), unknown: [] };
      } catch (error) {
        // Only the loss of a service leaves the others' kinds; a refusal concerns the caller.
        if (!["unavailable", "deadline_exceeded", "internal"].includes(toAppError(error).code)) throw error;
        return { items: [], cutKinds: [], unknown: kindsOf[service] };
      }
    });
    const replies = await Promise.all(requests);
    const data = replies.flatMap(({ items }) => items.map(itemOf));
    data.sort((a, b) => rank(a) - rank(b) || Date.parse(b.since) - Date.parse(a.since));
    return {
      data,
      cutKinds: replies.flatMap(({ cutKinds }) => cutKinds.map((each) => kind.parse(each))),
      unknownKinds: replies.flatMap(({ unknown }) => [...unknown]),
    };
  },
});

const rank = (of: { kind: Kind }) => attentionKinds.indexOf(of.kind);

function itemOf(message: AttentionItem) {
  const of = kind.parse(message.kind);
  const record =
    message.recordId === ""
      ? null
      : { type: recordType.parse(message.recordType), id: message.recordId, name: message.recordName };
  return {
    kind: of,
    record,
    orgId: message.orgId || null,
    partnerId: message.partnerId || null,
    count: message.count,
    since: timeOf(message.since),
    sentence: message.sentence,
    link: linkOf(of, record?.id ?? null, message.orgId),
  };
}

/** The console's page of a record, or of several. */
function linkOf(of: Kind, recordId: string | null, orgId: string): string {
  const query = (values: Record<string, string>) => {
    const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "")).toString();
    return text === "" ? "" : `?${text}`;
  };
  switch (of) {
    case "rollout":
      return `/releases/rollouts/${recordId}`;
    case "webhook":
      return `/webhooks/${recordId}${query({ orgId })}`;
    case "audit_stream":
      return `/audit/streams${query({ orgId })}`;
    case "sso_provider":
    case "certificate":
      return `/settings/sso/${recordId}${query({ orgId })}`;
    case "directory":
      return `/settings/directories/${recordId}${query({ orgId })}`;
    case "api_key":
      return `/keys${query({ orgId, status: "active" })}`;
    case "device":
      return recordId === null ? `/devices${query({ orgId, status: "quarantined" })}` : `/devices/${recordId}`;
    default:
      return of satisfies never;
  }
}

export const attentionRoutes: readonly Route[] = [list];
