import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
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
import { LastSignIns } from "./last-sign-ins.tsx";

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
      <FactorMissing of={data} />
      {mayReadAudit ? (
        <Sides
          first={
            <>
              <AccountFacts of={data} />
              <Access of={data} />
            </>
          }
          main={
            <>
              <LastSignIns of={data} />
              <Done by={data} />
            </>
          }
          side={<Changes of={data} />}
        />
      ) : (
        <Sides main={<Access of={data} />} side={<AccountFacts of={data} />} />
      )}
    </>
  );
}
