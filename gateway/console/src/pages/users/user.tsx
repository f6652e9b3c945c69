import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useForget, useGet } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { DeleteRecord } from "../../parts/delete-record.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { useMe } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Said } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { searchFor, useRecordId } from "../../parts/use-filters.ts";
import { type Invited, InviteLink } from "./invite-link.tsx";
import { Membership } from "./membership.tsx";

type User = BodyOf<"/api/v1/users/{id}">;

type Asking = "sessions" | "factors" | "change" | "disable" | "enable" | "invite" | "remove" | null;

/** One user: account, access scope and operations. */
export function UserPage() {
  const id = useRecordId();
  const me = useMe();
  const params = { path: { id } };
  const user = useGet("/api/v1/users/{id}", { params });
  const [asking, ask] = useState<Asking>(null);
  const [invited, setInvited] = useState<Invited | null>(null);
  const [said, say] = useState<string | null>(null);
  const forget = useForget();
  const navigate = useNavigate();
  if (!user.data) return <RecordState title="Person" of={user} />;
  const { data } = user;
  const close = () => ask(null);
  const done = async (sentence: string) => {
    say(sentence);
    await forget("/api/v1/users");
  };
  const isSelf = id === me.id;
  return (
    <>
      <PageTitle title={data.name} status={data.status} />
      <p>
        <Link to="/people" search={searchFor({ orgId: data.orgId ?? undefined })}>
          All people
        </Link>
      </p>
      <Said>{said}</Said>
      <UserFacts data={data} isSelf={isSelf} ask={ask} id={id} />
      <Membership of={data} isChanging={asking === "change"} onClose={close} onDone={done} />
      <UserQuestions
        data={data}
        asking={asking}
        close={close}
        params={params}
        done={done}
        forget={forget}
        invited={invited}
        setInvited={setInvited}
        navigate={navigate}
      />
    </>
  );
}

function UserFacts({ data, isSelf, ask, id }: { data: User; isSelf: boolean; ask(what: Asking): void; id: string }) {
  return (
    <Section
      title="Facts"
      action={
        isSelf ? (
          <Link to="/profile" className="button">
            This is you: your profile
          </Link>
        ) : (
          <div>
            <Operation name="PATCH /api/v1/users/{id}" onClick={() => ask("change")}>
              Change …
            </Operation>{" "}
            {data.status === "invited" ? (
              <Operation name="POST /api/v1/users/{id}/invite" onClick={() => ask("invite")}>
                Invite again …
              </Operation>
            ) : (
              <Operation
                name={`POST /api/v1/users/{id}/${data.status === "disabled" ? "enable" : "disable"}`}
                onClick={() => ask(data.status === "disabled" ? "enable" : "disable")}
              >
                {data.status === "disabled" ? "Enable …" : "Disable …"}
              </Operation>
            )}{" "}
            <Operation name="DELETE /api/v1/users/{id}/sessions" onClick={() => ask("sessions")}>
              End sessions …
            </Operation>{" "}
            {data.mfaEnabled ? (
              <>
                <Operation name="DELETE /api/v1/users/{id}/factors" onClick={() => ask("factors")}>
                  Reset second factors …
                </Operation>{" "}
              </>
            ) : null}
            <Operation name="DELETE /api/v1/users/{id}" onClick={() => ask("remove")}>
              Remove …
            </Operation>
          </div>
        )
      }
    >
      <Facts
        of={[
          ["E-mail", data.email],
          ["Department", data.department],
          [
            "Role",
            <Link key="role" to="/roles/$id" params={{ id: data.roleId }}>
              {data.role}
            </Link>,
          ],
          ["Second factor", data.mfaEnabled ? "on" : "off"],
          ["Last sign-in", <Time key="login" at={data.lastLoginAt} />],
          ["Since", <Time key="made" at={data.createdAt} />],
          ["Id", <code key="id">{id}</code>],
        ]}
      />
      <Link to="/audit" search={searchFor({ orgId: data.orgId ?? undefined, actorId: id })}>
        What they did, in the audit trail
      </Link>
    </Section>
  );
}

function UserQuestions({
  data,
  asking,
  close,
  params,
  done,
  forget,
  invited,
  setInvited,
  navigate,
}: {
  data: User;
  asking: Asking;
  close(): void;
  params: { path: { id: string } };
  done(sentence: string): Promise<void>;
  forget: ReturnType<typeof useForget>;
  invited: Invited | null;
  setInvited(invited: Invited | null): void;
  navigate: ReturnType<typeof useNavigate>;
}) {
  return (
    <>
      <StateQuestion data={data} asking={asking} close={close} params={params} done={done} />
      {asking === "sessions" ? (
        <Confirm
          title={`End every session of ${data.name}?`}
          verb="End them"
          onClose={close}
          action={async () => {
            const { ended } = await dataOf(api.DELETE("/api/v1/users/{id}/sessions", { params }));
            await done(`${ended.toLocaleString()} ${ended === 1 ? "session has" : "sessions have"} ended.`);
          }}
        >
          <p>The person is signed out everywhere at once, and may sign in again.</p>
        </Confirm>
      ) : null}
      <FactorsQuestion data={data} asking={asking} close={close} params={params} done={done} />
      {asking === "invite" ? (
        <Confirm
          title={`Invite ${data.name} again?`}
          verb="Invite"
          onClose={close}
          action={async () => {
            setInvited(await dataOf(api.POST("/api/v1/users/{id}/invite", { params })));
            await forget("/api/v1/users");
          }}
        >
          <p>A new mail goes to {data.email}; the links before stop working.</p>
        </Confirm>
      ) : null}
      {invited ? <InviteLink to={invited} onClose={() => setInvited(null)} /> : null}
      {asking === "remove" ? (
        <DeleteRecord
          name={data.name}
          verb="Remove"
          typed={data.email}
          remove={() => dataOf(api.DELETE("/api/v1/users/{id}", { params }))}
          forgets={["/api/v1/users"]}
          leave={() => navigate({ to: "/people", search: searchFor({ orgId: data.orgId ?? undefined }) })}
          onClose={close}
        >
          <p>The account is removed with its sessions and second factors. The person's audit rows stay.</p>
        </DeleteRecord>
      ) : null}
    </>
  );
}

function StateQuestion({
  data,
  asking,
  close,
  params,
  done,
}: {
  data: User;
  asking: Asking;
  close(): void;
  params: { path: { id: string } };
  done(sentence: string): Promise<void>;
}) {
  return asking === "disable" || asking === "enable" ? (
    <Confirm
      title={asking === "enable" ? `Enable ${data.name}?` : `Disable ${data.name}?`}
      verb={asking === "enable" ? "Enable" : "Disable"}
      onClose={close}
      action={async () => {
        await dataOf(api.POST(`/api/v1/users/{id}/${asking}`, { params }));
        await done(asking === "enable" ? "The person may sign in again." : "Every session of the person has ended.");
      }}
    >
      <p>
        {asking === "enable"
          ? "The person may sign in again."
          : "Every session of the person ends at once, and signing in is refused. The account and its audit rows stay."}
      </p>
    </Confirm>
  ) : null;
}

function FactorsQuestion({
  data,
  asking,
  close,
  params,
  done,
}: {
  data: User;
  asking: Asking;
  close(): void;
  params: { path: { id: string } };
  done(sentence: string): Promise<void>;
}) {
  return asking === "factors" ? (
    <Confirm
      title={`Reset the second factors of ${data.name}?`}
      verb="Reset"
      typed={data.email}
      onClose={close}
      action={async () => {
        await dataOf(api.DELETE("/api/v1/users/{id}/factors", { params }));
        await done("The second factors are removed, and every session has ended.");
      }}
    >
      <p>
        The authenticator app, all passkeys and the recovery codes are removed, and every session ends. The person is
        notified by mail, signs in with only the password and adds a new second factor: make sure that the request comes
        from them.
      </p>
    </Confirm>
  ) : null;
}
