import type { ItemOf } from "@muster/client";
import { orgAccesses, useScopeNames } from "../../operations/change-user.tsx";
import { Facts, Section } from "../../parts/facts.tsx";

type User = ItemOf<"/api/v1/users">;

/** Scope, organizations and sites of a user. */
export function Membership({ of: user }: { of: User }) {
  const { organizations, sites } = useScopeNames(user);
  const named = (ids: readonly string[], names: ReadonlyMap<string, string>) =>
    ids.map((id) => names.get(id) ?? id.slice(0, 8)).join(", ");
  return (
    <Section title="Membership">
      <Facts
        of={[
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
          ["Limited to sites", user.siteIds === null ? "no" : named(user.siteIds, sites)],
        ]}
      />
    </Section>
  );
}
