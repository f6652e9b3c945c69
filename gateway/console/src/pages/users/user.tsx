import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { userOperations } from "../../operations/users.tsx";
import { to } from "../../parts/links.ts";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sides } from "../../parts/sides.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { Access, AccountFacts } from "./account.tsx";
import { Changes, Done } from "./activity.tsx";
import { FactorMissing } from "./factor-missing.tsx";
import { Guessing } from "./guessing.tsx";
import { LastSignIns, useLastSignIns } from "./last-sign-ins.tsx";

/** One user: what the account lacks, what the person may do and did, and what can be done with it. */
export function UserPage() {
  const id = useRecordId("/people/$id");
  const me = useMe();
  const mayReadAudit = useWhyNot("GET /api/v1/audit-logs/logs") === null;
  const user = useGet("/api/v1/users/{id}", { params: { path: { id } } });
  if (!user.data) return <RecordState title="Person" of={user} />;
  const { data } = user;
  return (
    <>
      <PageTitle
        title={data.name}
        status={data.status}
        sub={data.email}
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
      {mayReadAudit ? <Guessing of={data} /> : null}
      <FactorMissing of={data} />
      {mayReadAudit ? (
        <ActiveSides of={data} />
      ) : (
        <Sides main={<Access of={data} />} side={<AccountFacts of={data} />} />
      )}
    </>
  );
}

/** The account beside what the person did. It is read first, unless sign-ins look like guessing. */
function ActiveSides({ of: user }: { of: BodyOf<"/api/v1/users/{id}"> }) {
  const isGuessed = useLastSignIns(user).guesses !== null;
  const account = (
    <>
      <AccountFacts of={user} />
      <Access of={user} />
    </>
  );
  return (
    <Sides
      first={isGuessed ? null : account}
      main={
        <>
          <LastSignIns of={user} />
          <Done by={user} />
        </>
      }
      side={
        <>
          {isGuessed ? account : null}
          <Changes of={user} />
        </>
      }
    />
  );
}
