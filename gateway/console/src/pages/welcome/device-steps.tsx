import { Link } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { api } from "../../api/api.ts";
import { dataOf } from "../../api/queries.ts";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { SubmitButton } from "../../parts/form-actions.tsx";
import { InstallLines } from "../../parts/install-lines.tsx";
import { to } from "../../parts/links.ts";
import { CopyButton } from "../../parts/list-head.tsx";
import secrets from "../../parts/secret-once.module.css";
import { FailureState } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { AgentDownloads } from "./agent-downloads.tsx";
import { AwaitDevice } from "./await-device.tsx";

export function KeyStep({ orgId, siteId, onDone }: { orgId: string; siteId: string; onDone(key: string): void }) {
  const write = useWrite();
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { orgId, siteId, name: String(form.get("name")), maxUsage: Number(form.get("maxUsage")) };
    const made = await write.run(() => dataOf(api.POST("/api/v1/enrollment-keys", { body })));
    if (made !== null) onDone(made.key);
  }
  return (
    <form className={forms.form} onSubmit={send}>
      {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
      <Field label="Name" errors={write.errorsOf("name")}>
        <input name="name" required maxLength={255} defaultValue="First devices" autoComplete="off" />
      </Field>
      <Field label="Devices that may enroll with it" errors={write.errorsOf("maxUsage")}>
        <input name="maxUsage" type="number" required min={1} max={100000} defaultValue={5} />
      </Field>
      <div>
        <SubmitButton isRunning={write.isRunning} running="Creating …">
          Create enrollment key
        </SubmitButton>
      </div>
    </form>
  );
}

export function AgentStep({ orgId, enrollmentKey }: { orgId: string; enrollmentKey: string }) {
  const command = `npm run agent-sim -- --url ${location.origin} --enrollment-key ${enrollmentKey} --count 1`;
  return (
    <>
      <InstallLines secret={enrollmentKey} />
      <AwaitDevice orgId={orgId} />
      <AgentDownloads />
      <details>
        <summary>No machine at hand</summary>
        <p>The simulated agent of the repository enrolls as one:</p>
        <pre className={secrets.secret}>{command}</pre>
        <CopyButton what="command" text={() => command} />
      </details>
      <p>
        <Link {...to("/devices", { orgId })}>All devices of this organization</Link>
      </p>
    </>
  );
}
