import { type FormEvent, useState } from "react";
import { call } from "../../api/call.ts";
import { Failed, useGet, useList } from "../../api/queries.ts";
import { accessToken } from "../../api/session.ts";
import { anywhere } from "../../operations/chosen.tsx";
import { factorOperations, newRecoveryCodes, passkeyOperations } from "../../operations/factors.tsx";
import { HeadOperations, LineOperations, OperationButton } from "../../operations/operation-buttons.tsx";
import { changeOwnName } from "../../operations/own-account.tsx";
import { endOtherSessions, sessionOperations } from "../../operations/sessions.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { useMe } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { areSingleKeysOn, setSingleKeys } from "../../parts/shortcuts.ts";
import { FailureState, Loading, Said } from "../../parts/states.tsx";
import { chooseDensity, chosenDensity } from "../../parts/theme.ts";
import { Instant, Time } from "../../parts/time.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { ZoneChoice } from "../../parts/zone-choice.tsx";
import { roleName } from "../../rules/role-name.ts";
import { attemptIn, ssoReasonSentence } from "../../rules/sso-reasons.ts";
import { LinkedProviders } from "./linked-providers.tsx";

/** The user's own account: name, second factors, password, sessions, and settings of this browser. */
export function Profile() {
  const parameters = new URLSearchParams(location.search);
  const linkError = parameters.get("ssoLinkError");
  const attempt = attemptIn(parameters);
  const [areKeysOn, setKeysOn] = useState(areSingleKeysOn);
  return (
    <>
      <PageTitle title="Profile" />
      <Said>{parameters.has("ssoLinked") ? "Your account is linked with the identity provider." : null}</Said>
      {linkError ? <p role="alert">Not linked. {ssoReasonSentence(linkError)}</p> : null}
      {linkError && attempt ? (
        <p className="soft">
          An administrator finds the cause under <code>{attempt}</code>.
        </p>
      ) : null}
      <Account />
      <Factors />
      <LinkedProviders />
      <ChangePassword />
      <Sessions />
      <Section title="This browser">
        <label>
          <input
            type="checkbox"
            checked={areKeysOn}
            onChange={(event) => {
              setSingleKeys(event.target.checked);
              setKeysOn(event.target.checked);
            }}
          />{" "}
          Single keys are shortcuts (press ? for the list)
        </label>
        <ZoneChoice />
        <DensityChoice />
      </Section>
    </>
  );
}

/** Chooses how much fits on a screen. */
function DensityChoice() {
  const [density, setDensity] = useState(chosenDensity);
  return (
    <label className={forms.inline}>
      Rows are{" "}
      <select
        value={density}
        onChange={({ target }) => {
          const wanted = target.value === "compact" ? "compact" : "usual";
          chooseDensity(wanted);
          setDensity(wanted);
        }}
      >
        <option value="usual">as usual</option>
        <option value="compact">compact: more of them fit</option>
      </select>
    </label>
  );
}

function Account() {
  const me = useMe();
  return (
    <Section title="Account" action={<OperationButton of={anywhere} operation={changeOwnName} />}>
      <Facts
        of={[
          ["Name", me.name],
          ["E-mail", me.email],
          ["Role", me.role && roleName(me.role)],
          ["Second factor", me.mfaEnabled ? "on" : "off"],
        ]}
      />
    </Section>
  );
}

function Factors() {
  const me = useMe();
  const passkeys = useGet("/api/v1/auth/mfa/passkeys");
  const factors = useGet("/api/v1/auth/mfa");
  return (
    <Section
      title="Second factors"
      action={
        factors.data ? (
          <div>
            <HeadOperations of={factors.data} operations={factorOperations} name="your second factors" />
          </div>
        ) : null
      }
    >
      {me.mfaEnabled ? null : (
        <p className="soft">You have none. Creating keys, inviting people and similar changes require one.</p>
      )}
      {factors.error ? <FailureState failure={factors.error.failure} onRetry={() => void factors.refetch()} /> : null}
      {factors.data?.totp ? <p>An authenticator app.</p> : null}
      {factors.data && me.mfaEnabled ? (
        <p>
          Recovery codes left: {factors.data.recoveryCodes}.{" "}
          <LineOperations of={factors.data} operations={[newRecoveryCodes]} name="" />
        </p>
      ) : null}
      {passkeys.error ? (
        <FailureState failure={passkeys.error.failure} onRetry={() => void passkeys.refetch()} />
      ) : null}
      {passkeys.data && passkeys.data.data.length > 0 ? (
        <PlainTable columns={["Passkey", "Made", "Last used"]} hasActions>
          {passkeys.data.data.map((passkey) => (
            <tr key={passkey.id}>
              <th scope="row">{passkey.name}</th>
              <td>
                <Instant at={passkey.createdAt} />
              </td>
              <td>
                <Time at={passkey.lastUsedAt} />
              </td>
              <td>
                <LineOperations of={passkey} operations={passkeyOperations} name={passkey.name} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}

function ChangePassword() {
  const write = useWrite();
  const [said, say] = useState<string | null>(null);
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    say(null);
    const body = { currentPassword: String(form.get("current")), newPassword: String(form.get("new")) };
    const done = await write.run(async () => {
      const { failure } = await call("POST", "/auth/change-password", body, (await accessToken()) ?? undefined);
      if (failure) throw new Failed(failure);
      return true;
    });
    if (!done) return;
    element.reset();
    say("Your password is changed. Your other sessions have ended.");
  }
  return (
    <Section title="Password">
      <form className={forms.form} onSubmit={send}>
        <Said>{said}</Said>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <Field label="Current password" errors={write.errorsOf("currentPassword")}>
          <input name="current" type="password" autoComplete="current-password" required maxLength={1024} />
        </Field>
        <Field label="New password" hint="12 characters or more." errors={write.errorsOf("newPassword")}>
          <input name="new" type="password" autoComplete="new-password" required minLength={12} maxLength={1024} />
        </Field>
        <div>
          <button type="submit" disabled={write.isRunning}>
            {write.isRunning ? "Changing …" : "Change password"}
          </button>
        </div>
      </form>
    </Section>
  );
}

function Sessions() {
  const list = useList("/api/v1/auth/sessions");
  return (
    <Section
      title="Sessions"
      action={list.rows.length < 2 ? null : <OperationButton of={anywhere} operation={endOtherSessions} />}
    >
      {list.failure ? <FailureState failure={list.failure} onRetry={() => void list.refresh()} /> : null}
      {list.isLoading ? <Loading /> : null}
      {list.rows.length > 0 ? (
        <PlainTable columns={["Device", "Address", "Last used", "Ends"]} hasActions>
          {list.rows.map((session) => (
            <tr key={session.id}>
              <th scope="row">{session.device}</th>
              <td>{session.ipAddress}</td>
              <td>
                <Time at={session.lastUsedAt} />
              </td>
              <td>
                <Time at={session.expiresAt} />
              </td>
              <td>
                {session.current ? (
                  "this one"
                ) : (
                  <LineOperations
                    of={session}
                    operations={sessionOperations}
                    name={`the session of ${session.device}`}
                  />
                )}
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
