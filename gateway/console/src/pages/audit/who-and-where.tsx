import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import type { BodyOf } from "../../api/queries.ts";
import { Facts } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { useMe } from "../../parts/me.tsx";
import { RecordLink } from "../../parts/record-link.tsx";
import { words } from "../../rules/action-words.ts";
import { claimedActorIn } from "../../rules/claimed-actor.ts";
import { reasonSentence } from "../../rules/reason-sentences.ts";
import { roleName } from "../../rules/role-name.ts";
import { namedTypes, rowSentence } from "../../rules/row-sentence.ts";

type Entry = BodyOf<"/api/v1/audit-logs/logs/{id}">;

/** Who did it, from where, and what the API calls it: what the line below the title does not say. */
export function WhoAndWhere({ of: data }: { of: Entry }) {
  const me = useMe();
  const orgId = data.orgId ?? undefined;
  const { who, name } = rowSentence(data);
  const { user, resource, actorType, ipAddress, sessionId, targets } = data;
  const actor = user.email ?? user.name ?? actorType;
  const isUnnamed = name === null && !(resource.id && namedTypes.includes(resource.type));
  return (
    <Facts
      of={[
        ["Actor", who === actor ? null : actor],
        ["Kind of actor", actorType === "user" || who === actorType ? null : words(actorType)],
        ["Role", user.role && roleName(user.role)],
        ["Claimed actor", claimedActorIn(data.details)],
        [
          "Address",
          ipAddress === null ? null : (
            <Link key="address" {...to("/audit", { orgId, ipAddress })}>
              {ipAddress}
            </Link>
          ),
        ],
        [
          "Session",
          sessionId === null ? null : (
            <Link key="session" {...to("/audit", { orgId, sessionId })}>
              All that was done in it
            </Link>
          ),
        ],
        ["Client", data.userAgent],
        [
          "Resource",
          isUnnamed ? (
            <span key="resource">
              {words(resource.type)} {resource.id}
            </span>
          ) : null,
        ],
        [
          "Also about",
          targets.length === 0 ? null : (
            <span key="targets">
              {targets.map((target, at) => (
                <Fragment key={`${target.type} ${target.id}`}>
                  {at > 0 ? ", " : null}
                  {words(target.type)} <RecordLink of={target} orgId={orgId} />
                </Fragment>
              ))}
            </span>
          ),
        ],
        [
          "Organization",
          orgId === undefined || me.orgId !== null || resource.id === orgId ? null : (
            <RecordLink key="org" of={{ type: "organization", id: orgId, name: null }} orgId={orgId} />
          ),
        ],
        ["Action", <code key="action">{data.action}</code>],
        ["Category", data.category],
        ["Error", data.errorMessage && reasonSentence(data.errorMessage)],
      ]}
      isBrief
      isShort
    />
  );
}
