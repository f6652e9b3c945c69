import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { userOperations } from "../../operations/users.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { useMe } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { Membership } from "./membership.tsx";

type User = BodyOf<"/api/v1/users/{id}">;

/** One user: account, access scope and operations. */
export function UserPage() {
  const id = useRecordId("/people/$id");
  const me = useMe();
  const user = useGet("/api/v1/users/{id}", { params: { path: { id } } });
  if (!user.data) return <RecordState title="Person" of={user} />;
  const { data } = user;
  return (
    <>
      <PageTitle
        title={data.name}
        status={data.status}
        sub={
          <span>
            {data.role} · {data.email} · last sign-in <Time at={data.lastLoginAt} />
          </span>
        }
        actions={
          id === me.id ? (
            <Link {...to("/profile")} className="button">
              This is you: your profile
            </Link>
          ) : (
            <HeadOperations of={data} operations={userOperations} name={data.name} />
          )
        }
      />
      <UserFacts of={data} />
      <Membership of={data} />
    </>
  );
}

const UserFacts = ({ of: data }: { of: User }) => (
  <Section
    title="Facts"
    action={
      <Link {...to("/audit", { orgId: data.orgId ?? undefined, actorId: data.id })}>
        What they did, in the audit trail
      </Link>
    }
  >
    <Facts
      of={[
        ["E-mail", data.email],
        ["Department", data.department],
        [
          "Role",
          <Link key="role" {...toRecord("/roles/$id", { id: data.roleId })}>
            {data.role}
          </Link>,
        ],
        ["Second factor", data.mfaEnabled ? "on" : "off"],
        ["Last sign-in", <Time key="login" at={data.lastLoginAt} />],
        ["Since", <Time key="made" at={data.createdAt} />],
        ["Id", <code key="id">{data.id}</code>],
      ]}
    />
  </Section>
);
