import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { useScopeNames } from "../../operations/access-fields.tsx";
import type { AuditRow } from "../../parts/audit-line.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { LongCode } from "../../parts/long-text.tsx";
import { RecordLink } from "../../parts/record-link.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { orgAccesses } from "../../rules/account-access.ts";
import { accountCause } from "../../rules/account-cause.ts";
import { actorWords } from "../../rules/action-words.ts";
import { factorState, lacksFactor } from "../../rules/factor-state.ts";
import { roleName } from "../../rules/role-name.ts";
import { useAccountRows } from "./account-rows.ts";
import { Allowed } from "./allowed.tsx";

type User = ItemOf<"/api/v1/users">;

/** Organizations and sites that are named; of more, how many they are. */
const mostNamed = 20;

/** Role, scope, organizations and sites of a user, and what they may do there. */
export function Access({ of: user }: { of: User }) {
  const { organizations, sites } = useScopeNames(user);
  const linked = (type: string, ids: readonly string[], names: ReadonlyMap<string, string>) =>
    ids.length === 0 ? null : (
      <span key={type}>
        {ids.slice(0, mostNamed).map((id, at) => (
          <Fragment key={id}>
            {at > 0 ? ", " : null}
            <RecordLink of={{ type, id, name: names.get(id) ?? null }} orgId={user.orgId ?? undefined} />
          </Fragment>
        ))}
        {ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : null}
      </span>
    );
  return (
    <Section title="Access">
      <Facts
        of={[
          [
            "Role",
            <Link key="role" {...toRecord("/roles/$id", { id: user.roleId })}>
              {roleName(user.role)}
            </Link>,
          ],
          [
            "Member of",
            user.scope === "organization"
              ? linked("organization", user.orgId ? [user.orgId] : [], organizations)
              : user.scope === "partner"
                ? "a partner"
                : "the platform",
          ],
          ...(user.orgAccess
            ? [
                ["Organization access", orgAccesses[user.orgAccess]] as const,
                ["Organizations", linked("organization", user.orgIds, organizations)] as const,
              ]
            : []),
          ["Sites", user.siteIds === null ? "all" : linked("site", user.siteIds, sites)],
        ]}
        isBrief
        isShort
      />
      <Allowed roleId={user.roleId} />
    </Section>
  );
}

/** How a user signs in, since when, and what made the account what it is. */
export function AccountFacts({ of: user }: { of: User }) {
  const { word, tone } = factorState(user);
  const rows = useAccountRows(user).data?.data ?? [];
  const cause = accountCause(user.status, rows);
  const creation = rows.find(({ action, result }) => action === "user.create" && result === "success");
  return (
    <Section title="Account">
      <Facts
        of={[
          [
            "State",
            cause && (
              <span key="state">
                {cause.did} <Time at={cause.row.timestamp} /> <By of={cause.row} />
              </span>
            ),
          ],
          // A missing one is said above the page.
          ["Second factor", lacksFactor(user) ? null : <Status key="factor" of={word} tone={tone} />],
          ["Last sign-in", <Time key="login" at={user.lastLoginAt} />],
          [
            "Created",
            <span key="made">
              <Time at={user.createdAt} /> {creation ? <By of={creation} /> : null}
            </span>,
          ],
          [
            "Managed by",
            user.managedBy && (
              <RecordLink
                key="directory"
                of={{ type: "directory", ...user.managedBy }}
                orgId={user.orgId ?? undefined}
              />
            ),
          ],
          ["Department", user.department],
          ["Id", <LongCode key="id" of={user.id} what="id" />],
        ]}
        isBrief
      />
    </Section>
  );
}

/** Who did what a row of the audit trail says; it leads there. */
const By = ({ of: row }: { of: AuditRow }) => (
  <Link {...toRecord("/audit/$id", { id: row.id }, { orgId: row.orgId ?? undefined })}>by {actorWords(row)}</Link>
);
