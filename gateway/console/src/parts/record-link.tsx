import { Link } from "@tanstack/react-router";
import { namedTypes } from "../rules/row-sentence.ts";
import { whyNot } from "../rules/why-not.ts";
import { type PageLink, to } from "./links.ts";
import { useMe } from "./me.tsx";
import { useNameOf } from "./name-of.tsx";

/** A record as an audit row names it. */
type Named = { type: string; id: string; name: string | null };
type RecordPage = { needs: string; linkTo(record: Named, orgId: string | undefined): PageLink };

const pageOf = (path: PageLink["to"], needs: string): RecordPage => ({
  needs,
  linkTo: ({ id }, orgId) => ({ to: path, params: { id }, search: { orgId } }),
});

/** Where a record of a type is shown, and the operation that shows it. */
const pages: Readonly<Record<string, RecordPage>> = {
  device: pageOf("/devices/$id", "GET /api/v1/devices/{id}"),
  agent: pageOf("/devices/$id", "GET /api/v1/devices/{id}"),
  device_bulk_job: pageOf("/devices/bulk-jobs/$id", "GET /api/v1/devices/bulk-jobs/{id}"),
  device_group: {
    needs: "GET /api/v1/devices",
    linkTo: ({ id }, orgId) => to("/devices", { orgId, groupId: id }),
  },
  site: pageOf("/sites/$id", "GET /api/v1/orgs/sites/{id}"),
  organization: pageOf("/orgs/$id", "GET /api/v1/orgs/organizations/{id}"),
  partner: pageOf("/partners/$id", "GET /api/v1/orgs/partners/{id}"),
  user: pageOf("/people/$id", "GET /api/v1/users/{id}"),
  role: pageOf("/roles/$id", "GET /api/v1/roles/{id}"),
  webhook: pageOf("/webhooks/$id", "GET /api/v1/webhooks/{id}"),
  api_key: {
    needs: "GET /api/v1/api-keys",
    linkTo: ({ name }, orgId) => to("/keys", { orgId, search: name ?? undefined }),
  },
  rollout: pageOf("/releases/rollouts/$id", "GET /api/v1/agent-versions/rollouts/{id}"),
  directory: pageOf("/settings/directories/$id", "GET /api/v1/directories/{id}"),
  sso_provider: pageOf("/settings/sso/$id", "GET /api/v1/sso/providers/{id}"),
};

type RecordLinkProps = {
  of: Named;
  orgId: string | undefined;
  /** Whether it was deleted since. */
  isGone?: boolean;
};

/** A record by its name, a link where the user may see it and it is still there. */
export function RecordLink({ of: record, orgId, isGone = false }: RecordLinkProps) {
  const me = useMe();
  const { type, id, name } = record;
  const isNamed = namedTypes.includes(type) || type === "agent";
  // The API names only what exists and is visible.
  const found = useNameOf(id, isNamed && !isGone);
  const page = Object.hasOwn(pages, type) ? pages[type] : undefined;
  const text = name ?? found ?? <code>{id.slice(0, 8)}</code>;
  const isOpen = page !== undefined && !isGone && whyNot(me, page.needs) === null && (!isNamed || Boolean(found));
  return isOpen ? <Link {...page.linkTo(record, orgId)}>{text}</Link> : text;
}
