import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { useScopeNames } from "../../operations/access-fields.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { LongCode } from "../../parts/long-text.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { orgAccesses } from "../../rules/account-access.ts";
import { factorState, lacksFactor } from "../../rules/factor-state.ts";
import { Allowed } from "./allowed.tsx";

type User = ItemOf<"/api/v1/users">;

/** Role, scope, organizations and sites of a user, and what they may do there. */
export function Access({ of: user }: { of: User }) {
  const { organizations, sites } = useScopeNames(user);
  const named = (ids: readonly string[], names: ReadonlyMap<string, string>) =>
    ids.map((id) => names.get(id) ?? id.slice(0, 8)).join(", ");
  return (
    <Section title="Access">
      <Facts
        of={[
          [
            "Role",
            <Link key="role" {...toRecord("/roles/$id", { id: user.roleId })}>
              {user.role}
            </Link>,
          ],
          [
            "Member of",
            user.scope === "organization"
              ? (organizations.get(user.orgId ?? "") ?? "one organization")
              : user.scope === "partner"
                ? "a partner"
                : "the platform",
          ],
          ...(user.orgAccess
            ? [
                ["Organization access", orgAccesses[user.orgAccess]] as const,
                ["Organizations", named(user.orgIds, organizations) || null] as const,
              ]
            : []),
          ["Sites", user.siteIds === null ? "all" : named(user.siteIds, sites)],
        ]}
        isBrief
      />
      <Allowed roleId={user.roleId} />
    </Section>
  );
}

/** How a user signs in, and since when. */
export function AccountFacts({ of: user }: { of: User }) {
  const { word, tone } = factorState(user);
  return (
    <Section title="Account">
      <Facts
        of={[
          // A missing one is said above the page.
          ["Second factor", lacksFactor(user) ? null : <Status key="factor" of={word} tone={tone} />],
          ["Last sign-in", <Time key="login" at={user.lastLoginAt} />],
          ["Created", <Time key="made" at={user.createdAt} />],
          ["Department", user.department],
          ["Id", <LongCode key="id" of={user.id} what="id" />],
        ]}
        isBrief
      />
    </Section>
  );
}
