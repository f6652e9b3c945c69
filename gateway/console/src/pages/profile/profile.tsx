import type { UseQueryResult } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { call } from "../../api/call.ts";
import { canUsePasskeys, makePasskey } from "../../api/passkey.ts";
import { type BodyOf, dataOf, Failed, useForget, useGet, useList } from "../../api/queries.ts";
import { accessToken } from "../../api/session.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { EnrollTotp } from "../../parts/enroll-totp.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { FormActions } from "../../parts/form-actions.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { useMe } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { areSingleKeysOn, setSingleKeys } from "../../parts/shortcuts.ts";
import { FailureState, Loading, Said } from "../../parts/states.tsx";
import { chooseDensity, chosenDensity } from "../../parts/theme.ts";
import { Instant, Time } from "../../parts/time.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { ZoneChoice } from "../../parts/zone-choice.tsx";
import { attemptIn, ssoReasonSentence } from "../../rules/sso-reasons.ts";
import { LinkedProviders } from "./linked-providers.tsx";

type OpenFactor = "totp" | "passkey" | "no-totp" | "codes" | null;
type Named = { id: string; name: string };

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
  const forget = useForget();
  const [isRenaming, rename] = useState(false);
  return (
    <Section
      title="Account"
      action={
        <button type="button" onClick={() => rename(true)}>
          Change your name …
        </button>
      }
    >
      <Facts
        of={[
          ["Name", me.name],
          ["E-mail", me.email],
          ["Role", me.role],
          ["Second factor", me.mfaEnabled ? "on" : "off"],
        ]}
      />
      {isRenaming ? (
        <FormDialog
          title="Change your name"
          verb="Change"
          running="Changing …"
          send={(form) => dataOf(api.PATCH("/api/v1/auth/me", { body: { name: String(form.get("name")) } }))}
          onSent={() => void forget("/api/v1/auth/me", "/api/v1/users")}
          onClose={() => rename(false)}
        >
          {(errorsOf) => (
            <Field label="Name" hint="As colleagues and the audit trail see you." errors={errorsOf("name")}>
              <input name="name" defaultValue={me.name} autoComplete="name" required maxLength={255} />
            </Field>
          )}
        </FormDialog>
      ) : null}
    </Section>
  );
}

function Factors() {
  const me = useMe();
  const forget = useForget();
  const passkeys = useGet("/api/v1/auth/mfa/passkeys");
  const factors = useGet("/api/v1/auth/mfa");
  const [open, setOpen] = useState<OpenFactor>(null);
  const [codes, setCodes] = useState<string | null>(null);
  const hasApp = factors.data?.totp === true;
  const [chosen, choose] = useState<Named | null>(null);
  const changed = () => forget("/api/v1/auth/mfa", "/api/v1/auth/me");
  return (
    <Section
      title="Second factors"
      action={
        <div>
          {hasApp ? (
            <button type="button" onClick={() => setOpen("no-totp")}>
              Remove the authenticator app …
            </button>
          ) : factors.data ? (
            <button type="button" onClick={() => setOpen("totp")}>
              Add an authenticator app
            </button>
          ) : null}{" "}
          {canUsePasskeys() ? (
            <button type="button" onClick={() => setOpen("passkey")}>
              Add a passkey
            </button>
          ) : null}
        </div>
      }
    >
      {me.mfaEnabled ? null : (
        <p className="soft">You have none. Creating keys, inviting people and similar changes require one.</p>
      )}
      {factors.error ? <FailureState failure={factors.error.failure} onRetry={() => void factors.refetch()} /> : null}
      {hasApp ? <p>An authenticator app.</p> : null}
      {factors.data && me.mfaEnabled ? (
        <p>
          Recovery codes left: {factors.data.recoveryCodes}.{" "}
          <button type="button" data-weight="link" onClick={() => setOpen("codes")}>
            Make new ones …
          </button>
        </p>
      ) : null}
      {passkeys.error ? (
        <FailureState failure={passkeys.error.failure} onRetry={() => void passkeys.refetch()} />
      ) : null}
      <Passkeys passkeys={passkeys} choose={choose} />
      <FactorQuestions
        open={open}
        setOpen={setOpen}
        changed={changed}
        codes={codes}
        setCodes={setCodes}
        chosen={chosen}
        choose={choose}
      />
    </Section>
  );
}

function Passkeys({
  passkeys,
  choose,
}: {
  passkeys: UseQueryResult<BodyOf<"/api/v1/auth/mfa/passkeys">>;
  choose(passkey: Named | null): void;
}) {
  return passkeys.data && passkeys.data.data.length > 0 ? (
    <PlainTable columns={["Passkey", "Made", "Last used"]} hasActions>
      {passkeys.data.data.map(({ id, name, createdAt, lastUsedAt }) => (
        <tr key={id}>
          <th scope="row">{name}</th>
          <td>
            <Instant at={createdAt} />
          </td>
          <td>
            <Time at={lastUsedAt} />
          </td>
          <td>
            <button type="button" data-weight="link" onClick={() => choose({ id, name })}>
              Remove<span className="visually-hidden"> {name}</span>
            </button>
          </td>
        </tr>
      ))}
    </PlainTable>
  ) : null;
}

function FactorQuestions({
  open,
  setOpen,
  changed,
  codes,
  setCodes,
  chosen,
  choose,
}: {
  open: OpenFactor;
  setOpen(open: OpenFactor): void;
  changed(): Promise<void>;
  codes: string | null;
  setCodes(codes: string | null): void;
  chosen: Named | null;
  choose(passkey: Named | null): void;
}) {
  return (
    <>
      {open === "totp" ? (
        <Dialog title="Add an authenticator app" onClose={() => setOpen(null)}>
          <EnrollTotp
            onCancel={() => setOpen(null)}
            onDone={() => {
              setOpen(null);
              void changed();
            }}
          />
        </Dialog>
      ) : null}
      <NoTotp open={open} setOpen={setOpen} changed={changed} />
      {open === "codes" ? (
        <Confirm
          title="Make new recovery codes?"
          verb="Make them"
          onClose={() => setOpen(null)}
          action={async () => {
            const { recoveryCodes } = await dataOf(api.POST("/api/v1/auth/mfa/recovery-codes"));
            setCodes(recoveryCodes.join("\n"));
            await changed();
          }}
        >
          <p>The codes that you have stop working.</p>
        </Confirm>
      ) : null}
      {codes === null ? null : <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
      {open === "passkey" ? (
        <NewPasskey
          onClose={() => {
            setOpen(null);
            void changed();
          }}
        />
      ) : null}
      {chosen ? (
        <Confirm
          title={`Remove ${chosen.name}?`}
          verb="Remove"
          onClose={() => choose(null)}
          action={async () => {
            await dataOf(api.DELETE("/api/v1/auth/mfa/passkeys/{id}", { params: { path: { id: chosen.id } } }));
            await changed();
          }}
        >
          <p>It no longer opens your account. With the last factor the recovery codes are removed, too.</p>
        </Confirm>
      ) : null}
    </>
  );
}

function NoTotp({
  open,
  setOpen,
  changed,
}: {
  open: OpenFactor;
  setOpen(open: OpenFactor): void;
  changed(): Promise<void>;
}) {
  return open === "no-totp" ? (
    <FormDialog
      title="Remove the authenticator app?"
      verb="Remove"
      running="Removing …"
      send={(form) =>
        dataOf(
          api.POST("/api/v1/auth/mfa/totp/disable", {
            body: { password: String(form.get("password")), code: String(form.get("code")).trim() },
          }),
        )
      }
      onSent={() => void changed()}
      onClose={() => setOpen(null)}
    >
      {(errorsOf) => (
        <>
          <p>Its codes no longer open your account. With the last factor the recovery codes are removed, too.</p>
          <Field label="Your password" errors={errorsOf("password")}>
            <input name="password" type="password" autoComplete="current-password" required />
          </Field>
          <Field label="A code of the app, or a recovery code" errors={errorsOf("code")}>
            <input name="code" autoComplete="one-time-code" required spellCheck={false} />
          </Field>
        </>
      )}
    </FormDialog>
  ) : null;
}

const RecoveryCodes = ({ codes, onClose }: { codes: string; onClose(): void }) => (
  <SecretOnce
    title="Your recovery codes"
    secret={codes}
    note="They open your account without another factor; each works once, and they are shown only once."
    onClose={onClose}
  />
);

function NewPasskey({ onClose }: { onClose(): void }) {
  const write = useWrite();
  const [codes, setCodes] = useState<string | null>(null);
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const made = await write.run(async () => {
      const token = (await accessToken()) ?? "";
      const { data, failure } = await makePasskey<{ recoveryCodes?: string[] }>(
        token,
        String(form.get("password")),
        String(form.get("name")).trim(),
      );
      if (failure) throw new Failed(failure);
      return data;
    });
    if (made === null) return;
    if (made.recoveryCodes) setCodes(made.recoveryCodes.join("\n"));
    else onClose();
  }
  if (codes !== null) return <RecoveryCodes codes={codes} onClose={onClose} />;
  return (
    <Dialog title="Add a passkey" onClose={onClose}>
      <form className={forms.form} onSubmit={send}>
        {write.failure ? <FailureState failure={write.failure} /> : null}
        <Field label="Name" hint="Where it is, such as “Laptop”.">
          <input name="name" maxLength={255} />
        </Field>
        <Field label="Your password">
          <input name="password" type="password" autoComplete="current-password" maxLength={1024} />
        </Field>
        <FormActions onCancel={onClose} isRunning={write.isRunning} running="Waiting for your device …">
          Continue
        </FormActions>
      </form>
    </Dialog>
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
  const forget = useForget();
  const write = useWrite();
  const end = (work: () => Promise<unknown>) =>
    void write.run(async () => {
      await work();
      await forget("/api/v1/auth/sessions");
      return true;
    });
  return (
    <Section
      title="Sessions"
      action={
        <button
          type="button"
          disabled={write.isRunning || list.rows.length < 2}
          onClick={() => end(() => dataOf(api.DELETE("/api/v1/auth/sessions")))}
        >
          End all others
        </button>
      }
    >
      {write.failure ? <FailureState failure={write.failure} /> : null}
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
                  <button
                    type="button"
                    data-weight="link"
                    onClick={() =>
                      end(() =>
                        dataOf(api.DELETE("/api/v1/auth/sessions/{id}", { params: { path: { id: session.id } } })),
                      )
                    }
                  >
                    End<span className="visually-hidden"> the session of {session.device}</span>
                  </button>
                )}
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
