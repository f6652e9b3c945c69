import type { ReactNode } from "react";
import { useGet } from "../../api/queries.ts";
import { anywhere } from "../../operations/chosen.tsx";
import { addFactors, newRecoveryCodes, passkeyOperations, removeApp } from "../../operations/factors.tsx";
import { HeadOperations, LineOperations } from "../../operations/operation-buttons.tsx";
import { changePassword } from "../../operations/own-account.tsx";
import { Section } from "../../parts/facts.tsx";
import { useMe } from "../../parts/me.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState } from "../../parts/states.tsx";
import { Instant, Time } from "../../parts/time.tsx";

type WayProps = {
  name: string;
  note?: string;
  state?: ReactNode;
  /** Whether the state is that of all others that are there: a phone leaves it out. */
  isUsual?: true;
  children: ReactNode;
};

/** One of the ways to sign in, how it is, and at the end what can be done with it. */
const Way = ({ name, note, state, isUsual, children }: WayProps) => (
  <tr>
    <th scope="row">
      {name} {note ? <span className="soft">{note}</span> : null}
    </th>
    <td data-none={isUsual}>{state}</td>
    <td className={plain.end}>{children}</td>
  </tr>
);

/** With what the user signs in: the password, their own second factors, and the recovery codes that are left. */
export function Factors() {
  const me = useMe();
  const passkeys = useGet("/api/v1/auth/mfa/passkeys");
  const factors = useGet("/api/v1/auth/mfa");
  const { data } = factors;
  return (
    <Section
      title="Signing in"
      action={
        data ? (
          <div>
            <HeadOperations of={data} operations={addFactors} name="your second factors" />
          </div>
        ) : null
      }
    >
      {me.mfaEnabled ? null : (
        <p>
          You have no second factor.{" "}
          <span className="soft">Creating keys, inviting people and the like require one.</span>
        </p>
      )}
      {[factors, passkeys].map(({ error, refetch }, at) =>
        error ? <FailureState key={String(at)} failure={error.failure} onRetry={() => void refetch()} /> : null,
      )}
      <PlainTable columns={["With", "State"]} hasActions isBrief>
        <Way name="Password" state="set" isUsual>
          <LineOperations of={anywhere} operations={[changePassword]} name="" />
        </Way>
        {data?.totp ? (
          <Way name="Authenticator app" state="on" isUsual>
            <LineOperations of={data} operations={[removeApp]} name="" />
          </Way>
        ) : null}
        {passkeys.data?.data.map((passkey) => (
          <Way
            key={passkey.id}
            name={passkey.name}
            note="passkey"
            state={
              <>
                used <Time at={passkey.lastUsedAt} />, added <Instant at={passkey.createdAt} />
              </>
            }
          >
            <LineOperations of={passkey} operations={passkeyOperations} name={passkey.name} />
          </Way>
        ))}
        {data && me.mfaEnabled ? (
          <Way
            name="Recovery codes"
            state={<span className={data.recoveryCodes === 0 ? "warn" : undefined}>{data.recoveryCodes} left</span>}
          >
            <LineOperations of={data} operations={[newRecoveryCodes]} name="" />
          </Way>
        ) : null}
      </PlainTable>
    </Section>
  );
}
