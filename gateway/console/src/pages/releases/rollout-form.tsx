import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";

import { LimitFields } from "../../parts/limit-fields.tsx";
import { NamedOptions, Options } from "../../parts/options.tsx";
import { FailureState } from "../../parts/states.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { useWrite } from "../../parts/use-write.ts";
import { draftOf, errorsOfRing, type Limits, limitsOf, newRing, type RingDraft, ringOf } from "../../rules/rings.ts";
import { KeepTemplate } from "./keep-template.tsx";
import { RingFields } from "./ring-fields.tsx";
import styles from "./rollout-form.module.css";
import { type Planned, StartRollout } from "./start-rollout.tsx";

type Component = "agent" | "watchdog" | "helper";
const components: readonly Component[] = ["agent", "watchdog", "helper"];
const componentOf = (text: string): Component => components.find((each) => each === text) ?? "agent";

/** What the form begins with. */
export type Initial = {
  component: string;
  version?: string | undefined;
  template?: { id: string; name: string };
  rings?: BodyOf<"/api/v1/agent-versions/rollouts/{id}">["rings"];
  limits?: { readonly [Name in keyof Limits]?: number | null };
  /** Devices that run `newer` go back. */
  isBack?: true;
  newer?: string;
};

/** Rings and limits of a new rollout. Sending it counts the devices first; nothing starts before that was confirmed. */
export function RolloutForm({ initial }: { initial: Initial }) {
  const [, change] = useFilters();
  const write = useWrite();
  const [component, setComponent] = useState(componentOf(initial.component));
  const [rings, setRings] = useState<readonly RingDraft[]>(() =>
    (initial.rings ?? []).map((ring) => draftOf(ring, crypto.randomUUID())),
  );
  const [isBack, setBack] = useState(initial.isBack ?? false);
  const [planned, plan] = useState<Planned | null>(null);
  const [kept, keep] = useState<{ rings: ReturnType<typeof ringOf>[]; limits: Limits } | null>(null);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { rings: rings.map(ringOf), ...limitsOf(form) };
    const { submitter } = event.nativeEvent as SubmitEvent;
    if (submitter?.getAttribute("value") === "template") return keep({ rings: body.rings, limits: limitsOf(form) });
    const version = String(form.get("version"));
    const back = isBack ? { allowDowngrade: true, rollbackNote: String(form.get("rollbackNote")) } : {};
    const counted = await write.run(() =>
      body.rings.length === 0
        ? Promise.resolve({ rings: [] })
        : dataOf(api.POST("/api/v1/agent-versions/rollouts/preview", { body: { rings: body.rings } })),
    );
    if (counted) plan({ body: { component, version, ...body, ...back }, counted: counted.rings });
  }

  return (
    <form className={styles.form} onSubmit={submit}>
      {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
      <Section title="What">
        <div className={forms.columns}>
          <Field label="Program" errors={write.errorsOf("component")}>
            <select value={component} onChange={({ target }) => setComponent(componentOf(target.value))}>
              <Options of={components} />
            </select>
          </Field>
          <VersionField
            component={component}
            chosen={initial.version}
            newer={initial.newer}
            errorsOf={write.errorsOf}
          />
          {initial.isBack ? null : (
            <TemplateField chosen={initial.template?.id} choose={(templateId) => change({ templateId, component })} />
          )}
        </div>
        <label>
          <input type="checkbox" checked={isBack} onChange={({ target }) => setBack(target.checked)} /> Devices that run
          a newer version go back to this one
        </label>
        {isBack ? <RollbackNote errors={write.errorsOf("rollbackNote")} /> : null}
      </Section>
      <Rings rings={rings} change={setRings} errors={write.failure?.details?.fieldErrors ?? {}} />
      <Section title="Limits">
        <LimitFields values={initial.limits ?? {}} errorsOf={write.errorsOf} />
      </Section>
      <div className={styles.actions}>
        <button type="submit" data-weight="primary" disabled={write.isRunning}>
          {write.isRunning ? "Counting …" : "Preview and start …"}
        </button>
        <button type="submit" value="template">
          Keep as a template …
        </button>
      </div>
      {planned ? <StartRollout of={planned} onClose={() => plan(null)} onFailed={write.fail} /> : null}
      {kept ? <KeepTemplate {...kept} template={initial.template} onClose={() => keep(null)} /> : null}
    </form>
  );
}

type VersionFieldProps = {
  component: Component;
  chosen: string | undefined;
  newer: string | undefined;
  errorsOf: ReturnType<typeof useWrite>["errorsOf"];
};

/** The registered versions of a program, without those that are yanked. */
function VersionField({ component, chosen, newer, errorsOf }: VersionFieldProps) {
  const { data, error, refetch } = useGet("/api/v1/agent-versions", { params: { query: { component, limit: "100" } } });
  if (error) return <FailureState failure={error.failure} onRetry={() => void refetch()} />;
  const versions = (data?.data ?? []).filter(({ yankedAt, version }) => yankedAt === null && version !== newer);
  return (
    <Field
      label="Version"
      hint={data && versions.length === 0 ? "None is registered: publish or sync one first." : ""}
      errors={errorsOf("version")}
    >
      <select name="version" required defaultValue={chosen} key={`${component} ${data ? "loaded" : ""}`}>
        <Options of={versions.map(({ version }) => version)} />
      </select>
    </Field>
  );
}

function TemplateField({ chosen, choose }: { chosen: string | undefined; choose(id: string | undefined): void }) {
  const { data } = useGet("/api/v1/agent-versions/rollout-templates", { params: { query: { limit: "100" } } });
  return (
    <Field label="From the template" hint="Replaces waves and limits below.">
      <select value={chosen ?? ""} onChange={({ target }) => choose(target.value || undefined)}>
        <option value="">none</option>
        <NamedOptions of={data?.data ?? []} />
      </select>
    </Field>
  );
}

const RollbackNote = ({ errors }: { errors: readonly string[] | undefined }) => (
  <Field
    label="Rollback note"
    hint="As muster-release rollback signs it, for all organizations: agents go back only with it."
    errors={errors}
  >
    <textarea name="rollbackNote" required rows={4} maxLength={65_536} spellCheck={false} />
  </Field>
);

type RingsProps = {
  rings: readonly RingDraft[];
  change(rings: readonly RingDraft[]): void;
  errors: Readonly<Record<string, string[]>>;
};

function Rings({ rings, change, errors }: RingsProps) {
  const raise = (at: number) =>
    change([...rings.slice(0, at - 1), ...rings.slice(at - 1, at + 1).reverse(), ...rings.slice(at + 1)]);
  return (
    <Section
      title="Waves"
      action={
        <button
          type="button"
          disabled={rings.length >= 20}
          onClick={() => change([...rings, newRing(crypto.randomUUID(), rings.length === 0 ? "Canary" : "")])}
        >
          Add a wave
        </button>
      }
    >
      {errors.rings ? <p role="alert">{errors.rings.join(" ")}</p> : null}
      <p className="soft">
        {rings.length === 0
          ? "Without waves, every device within the percentage is offered the version."
          : "A wave has the devices of any of its owners that match all of the rest. For everybody, tick all systems."}
      </p>
      {rings.map((ring, at) => (
        <RingFields
          key={ring.key}
          at={at}
          ring={ring}
          errors={errorsOfRing(errors, at)}
          change={(changed) => change(rings.map((each) => (each.key === ring.key ? changed : each)))}
          remove={() => change(rings.filter(({ key }) => key !== ring.key))}
          raise={at > 0 ? () => raise(at) : undefined}
        />
      ))}
    </Section>
  );
}
